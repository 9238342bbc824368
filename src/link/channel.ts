// What carries messages between an instance and the host of its callable: each whole, in order, until either end closes
// it. A message is plain data, which could as well be written to a stream of bytes; its times are those of the channel's
// clock.

import type { MessagePort } from 'node:worker_threads';

export interface Channel<Sent, Received> {
  /**
   * Sends a message; to a closed channel it is lost without a word. Nobody here needs the buffers in `memory` any more,
   * which may be handed over instead of copied. Throws when the message cannot be sent.
   */
  post(message: Sent, memory?: readonly ArrayBuffer[]): void;
  /** Begins to receive; to be called once. */
  onMessage(listener: (message: Received) => void): void;
  /** Called once, after the last message, that either end has closed the channel. */
  onClose(listener: () => void): void;
  close(): void;
  /** Milliseconds of a monotonic clock that both ends read alike. */
  now(): number;
}

/** Between threads. Takes ownership of the port. */
export class PortChannel<Sent, Received> implements Channel<Sent, Received> {
  readonly #port: MessagePort;

  constructor(port: MessagePort) {
    this.#port = port;
  }

  post(message: Sent, memory: readonly ArrayBuffer[] = []): void {
    this.#port.postMessage(message, memory as ArrayBuffer[]);
  }

  onMessage(listener: (message: Received) => void): void {
    this.#port.on('message', listener);
  }

  onClose(listener: () => void): void {
    this.#port.on('close', listener);
  }

  close(): void {
    this.#port.close();
  }

  /** The machine's monotonic clock is the same one in all threads, whatever happens to the wall clock. */
  now(): number {
    const [seconds, nanoseconds] = process.hrtime();
    return seconds * 1e3 + nanoseconds / 1e6;
  }
}
