// Keeps a call to a server from being idle, which proxies end, and tells when the server is gone though nothing says so. A
// proxy may answer the pings of HTTP/2 itself, so the server answers messages instead.

import { TritonError } from '../errors.js';
import type { Http2Connection } from '../client/grpc/http2-connection.js';

const BEAT_MILLISECONDS = 1000;
/** Beats without a byte from the server. They are counted, because a callable may hold this thread for longer. */
const SILENT_BEATS = 30;

export interface PulseOptions {
  readonly connection: Http2Connection;
  /** For error messages. */
  readonly address: string;
  /** Sends a message that the server answers. */
  readonly ping: () => void;
  /** Called once, when nothing has come for 30 s. */
  readonly onSilent: (error: TritonError) => void;
}

export class Pulse {
  readonly #options: PulseOptions;
  readonly #timer: NodeJS.Timeout;
  #receivedBytes = 0;
  #silentBeats = 0;

  /** It does not keep the process alive. */
  constructor(options: PulseOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#beat(), BEAT_MILLISECONDS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #beat(): void {
    const { connection, address, ping, onSilent } = this.#options;
    ping();
    // Reads first the bytes that came while this thread was busy.
    setImmediate(() => {
      const { receivedBytes } = connection;
      this.#silentBeats = receivedBytes === this.#receivedBytes ? this.#silentBeats + 1 : 0;
      this.#receivedBytes = receivedBytes;
      if (this.#silentBeats !== SILENT_BEATS) return;
      const seconds = (SILENT_BEATS * BEAT_MILLISECONDS) / 1000;
      onSilent(new TritonError('UNAVAILABLE', `${address} has sent nothing for ${seconds} s`));
    });
  }
}
