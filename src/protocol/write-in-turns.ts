// Compresses large data in short jobs for the few threads that Node has for them. One job for all of it would hold a thread for
// seconds, while the compressed requests and answers of others wait.

import type { Zlib } from 'node:zlib';
import type { Writable } from 'node:stream';

const BYTES_OF_A_TURN = 512 * 1024;

/** Writes the parts to a stream of zlib, and ends it. */
export function writeInTurns(stream: Zlib & Writable, parts: Iterable<Uint8Array>): void {
  for (const part of parts) {
    for (let at = 0; at < part.byteLength; at += BYTES_OF_A_TURN) {
      stream.write(part.subarray(at, at + BYTES_OF_A_TURN));
    }
  }
  stream.end();
}
