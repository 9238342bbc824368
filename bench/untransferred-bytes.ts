// Counts what a thread posts to others without transferring or sharing it, and so has copied: the bytes of every
// ArrayBuffer in a message that is not in the message's transfer list.

import { MessagePort } from 'node:worker_threads';
import type { Transferable } from 'node:worker_threads';

function buffersIn(value: unknown, found: Set<ArrayBuffer>, depth: number): void {
  if (typeof value !== 'object' || value === null || depth > 8) return;
  if (value instanceof ArrayBuffer) found.add(value);
  else if (ArrayBuffer.isView(value)) buffersIn(value.buffer, found, depth + 1);
  else for (const member of Object.values(value)) buffersIn(member, found, depth + 1);
}

/** From now on, in this thread: `counts[0]` grows by the bytes copied, `counts[1]` by those transferred. */
export function countPostedBytes(counts: Int32Array): void {
  const { prototype } = MessagePort;
  // oxlint-disable-next-line typescript/unbound-method -- called on the port below
  const post = prototype.postMessage;
  prototype.postMessage = function (this: MessagePort, message: unknown, transfer?: readonly Transferable[]) {
    const found = new Set<ArrayBuffer>();
    buffersIn(message, found, 0);
    for (const buffer of found) Atomics.add(counts, transfer?.includes(buffer) ? 1 : 0, buffer.byteLength);
    post.call(this, message, transfer);
  };
}
