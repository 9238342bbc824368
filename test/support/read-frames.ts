// The messages that bytes of one direction of a gRPC call complete.

import type { MessageFrameReader } from '../../src/protocol/grpc/message-frame.js';

/** Gives `reader` the next bytes, and what it makes of them. */
export function readFrames(reader: MessageFrameReader, chunk: Buffer): Buffer[] {
  reader.add(chunk);
  const messages: Buffer[] = [];
  for (let message = reader.next(); message !== undefined; message = reader.next()) messages.push(message.bytes);
  return messages;
}
