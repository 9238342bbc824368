// A channel carries messages between an instance and the host of its callable. Each arrives whole and in order, until
// either end closes the channel. A message is plain data, so it could as well be written to a stream of bytes. Its times
// are read from the channel's clock.

import type { MessagePort } from 'node:worker_threads';

export interface Channel<Sent, Received> {
  /** Whether both ends then share memory that a message holds. Default: false. */
  readonly sharesMemory?: boolean;
  /**
   * Sends a message. A closed channel drops it without an error. The sender no longer needs the buffers in `memory`, so
   * they may be handed over instead of copied. Throws when the message cannot be sent.
   */
  post(message: Sent, memory?: readonly ArrayBuffer[]): void;
  /** Begins to receive. Call it once. */
  onMessage(listener: (message: Received) => void): void;
  /** Called once, after the last message, that either end has closed the channel. */
  onClose(listener: () => void): void;
  /** Sends all messages that wait for the end of the turn. */
  flush?(): void;
  close(): void;
  /** Milliseconds of a monotonic clock that is the same at both ends. */
  now(): number;
}

/** A channel between threads. Takes ownership of the port. */
export class PortChannel<Sent, Received> implements Channel<Sent, Received> {
  readonly sharesMemory = true;
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

  /** Reads the machine's monotonic clock: all threads share it, and changes of the wall clock do not touch it. */
  now(): number {
    const [seconds, nanoseconds] = process.hrtime();
    return seconds * 1e3 + nanoseconds / 1e6;
  }
}
