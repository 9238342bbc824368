// For requests whose tensors are in no shared memory.
import { TritonError } from '../../src/errors.js';
import type { PacedWork } from '../../src/pacing/paced-work.js';
import type { SharedInput, SharedMemoryAccess } from '../../src/model/shared-memory.js';

/** Where there is none: every use is refused with UNSUPPORTED. */
export const NO_SHARED_MEMORY: SharedMemoryAccess = {
  // eslint-disable-next-line require-yield
  *input(): PacedWork<SharedInput> {
    throw noSharedMemory();
  },
  output() {
    throw noSharedMemory();
  },
};

function noSharedMemory(): TritonError {
  return new TritonError('UNSUPPORTED', 'shared memory is not supported here');
}
