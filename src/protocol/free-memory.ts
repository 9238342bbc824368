// Gives memory back at once. V8 frees a buffer only after it has marked its whole heap, and it marks more often the more bytes of
// buffers there are. With a heap of 8 MB it marks once for every few megabytes. Marking uses four threads of V8's own, and a
// server on one core waits 10 ms for them.

import { MessageChannel, type MessagePort } from 'node:worker_threads';

/** Freeing smaller memory costs more than it saves. */
const LEAST_BYTES = 64 * 1024;

/** A port without a listener: memory transferred to it is freed. */
let nobody: MessagePort | undefined;

/**
 * Frees all memory under the bytes, unless it is small or many buffers share it. All views of the memory become empty, so nothing
 * may need it any more.
 */
export function freeMemory({ buffer }: Uint8Array): void {
  if (buffer.byteLength < LEAST_BYTES || !(buffer instanceof ArrayBuffer)) return;
  nobody ??= closedPort();
  try {
    nobody.postMessage(undefined, [buffer]);
  } catch {
    // Small buffers share memory that cannot be transferred; its size can be configured.
  }
}

function closedPort(): MessagePort {
  const { port1 } = new MessageChannel();
  port1.close();
  return port1;
}
