// Memory of large requests. It is reused, and laid out so that the first large tensor can be viewed as numbers.

import { longFieldAt } from '../../protocol/grpc/long-field.js';
import type { MessageMemory } from '../../protocol/grpc/message-frame.js';
import { largeMemory } from '../../sockets/large-memory.js';

export const requestMemory: MessageMemory = {
  allocate: (bytes) => largeMemory.ofRequest(bytes),
  spare: (bytes) => largeMemory.spareOfRequest(bytes),
  tensorsAt: longFieldAt,
};
