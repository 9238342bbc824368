// How many bytes of clients a server may hold where nobody says: a part of the memory that its process may have. A request is there
// up to three times while it is answered: as it came, as tensors of a callable, and as its answer.

import { totalmem } from 'node:os';

const MIB = 2 ** 20;
/** For the process itself, its code and its heap. */
const OWN_BYTES = 128 * MIB;
const PART = 4;
const LEAST_BYTES = 16 * MIB;
/** Half of seven eighths of it are more than the largest message. */
const MOST_BYTES = 8 * 1024 * MIB;

/** `memory`: what the process may have. Default: the limit of its cgroup, or all of the machine. */
export function defaultInflightBytes(memory: number = availableMemory()): number {
  return Math.min(MOST_BYTES, Math.max(LEAST_BYTES, Math.floor((memory - OWN_BYTES) / PART)));
}

function availableMemory(): number {
  // 0, or more than there is, without a limit. Older releases of Node 20 do not know.
  const limit = (process as { constrainedMemory?: () => number }).constrainedMemory?.() ?? 0;
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}
