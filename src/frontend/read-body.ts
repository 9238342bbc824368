// Frees the memory of a large body of JSON when the request has been read from it. The collector takes such memory with the whole
// heap only, and a server without traffic does not collect: it would keep the memory of its last large requests.

import { LEAST_LARGE_BYTES, largeMemory } from '../sockets/large-memory.js';
import type { PacedWork } from '../pacing/paced-work.js';

interface WithInputs {
  readonly request: { readonly inputs: readonly { readonly bytes: Uint8Array }[] };
}

/** The same work. Behind it, or its failure, the body is empty where it was large and no input lies in it. */
export function readBody<Read extends WithInputs>(body: Buffer, reading: PacedWork<Read>): PacedWork<Read> {
  return body.length < LEAST_LARGE_BYTES ? reading : readAndFree(body, reading);
}

function* readAndFree<Read extends WithInputs>(body: Buffer, reading: PacedWork<Read>): PacedWork<Read> {
  const memory = body.buffer;
  let isNeeded = false;
  try {
    const read = yield* reading;
    isNeeded = read.request.inputs.some(({ bytes }) => bytes.buffer === memory);
    return read;
  } finally {
    if (!isNeeded) largeMemory.abandon(body);
  }
}
