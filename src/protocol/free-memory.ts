// Memory that is given back at once. The engine frees a buffer when it has looked through its whole heap for who may still need it,
// and it does that the sooner, the more bytes of buffers there are: with a heap of 8 MB, for every few megabytes, with four threads of
// its own, beside which a server on one core waits for 10 ms.

import { MessageChannel, type MessagePort } from 'node:worker_threads';

/** Of less, asking costs more than it saves. */
const LEAST_BYTES = 64 * 1024;

/** Nobody listens to it: what is handed over to it is freed. */
let nobody: MessagePort | undefined;

/**
 * Frees the memory that the bytes lie in, all of it, unless it is small or many buffers share it. Nobody may need any of it: whoever has
 * a view of it finds that empty.
 */
export function freeMemory({ buffer }: Uint8Array): void {
  if (buffer.byteLength < LEAST_BYTES || !(buffer instanceof ArrayBuffer)) return;
  nobody ??= closedPort();
  try {
    nobody.postMessage(undefined, [buffer]);
  } catch {
    // The memory of small buffers, which may not be handed over; how large it is can be set.
  }
}

function closedPort(): MessagePort {
  const { port1 } = new MessageChannel();
  port1.close();
  return port1;
}
