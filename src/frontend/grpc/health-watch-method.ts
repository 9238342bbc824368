// Watch of grpc.health.v1: the state when the stream opens, and each time that it changes. Which service is asked about
// does not matter, as for Check.

import { TritonError } from '../../errors.js';
import { decodeModelReference } from '../../protocol/grpc/decode-model-reference.js';
import { encodeState } from '../../protocol/grpc/encode-state.js';
import { servingStatus } from './health-methods.js';
import type { ServedCore } from '../served-core.js';
import type { AnswerStream, StreamHandler, StreamMethod } from './stream-call.js';

type WatchedCore = Pick<ServedCore, 'isReady' | 'onStateChange'>;

export function healthWatchMethod(server: WatchedCore): StreamMethod {
  return { open: (stream) => new HealthWatch(stream, server) };
}

class HealthWatch implements StreamHandler {
  readonly #stream: AnswerStream;
  readonly #server: WatchedCore;
  #unsubscribe: (() => void) | undefined;
  #told: boolean | undefined;
  #waiting = false;

  constructor(stream: AnswerStream, server: WatchedCore) {
    this.#stream = stream;
    this.#server = server;
  }

  message(bytes: Buffer): void {
    if (this.#unsubscribe !== undefined) throw new TritonError('INTERNAL', 'expected one request message, got more');
    // Throws when the bytes are not a message. The request of Watch has the same field.
    decodeModelReference(bytes);
    this.#unsubscribe = this.#server.onStateChange(() => this.#tell());
    this.#tell();
  }

  halfClosed(): void {
    if (this.#unsubscribe === undefined) this.#stream.fail(new TritonError('INTERNAL', 'Unable to parse request'));
  }

  cancel(): void {
    this.#unsubscribe?.();
  }

  drain(): void {
    this.cancel();
    this.#tell(false);
    this.#stream.fail(new TritonError('UNAVAILABLE', 'Server exiting'));
  }

  // For a slow reader only the latest state counts.
  #tell(ready = this.#server.isReady()): void {
    if (this.#waiting || ready === this.#told) return;
    this.#told = ready;
    const room = this.#stream.send([encodeState(servingStatus(ready))]);
    if (room === undefined) return;
    this.#waiting = true;
    void room.then(() => {
      this.#waiting = false;
      this.#tell();
    });
  }
}
