// How a connection ends in order (RFC 9113, section 6.8). A server announces the end first, without the last stream, and sends
// a ping. When the ping is answered, it says which stream is the last. So it serves streams that cross the announcement on the
// wire. A client just opens no more streams.

import { FRAME, MAX_STREAM_ID, readUint31, readUint32, writeUint32 } from './frame.js';
import { ERROR_CODE, nameOfErrorCode, type ErrorCodeName } from './http2-error.js';
import type { PingBook } from './ping-book.js';
import type { Sender } from './sender.js';
import { Stopwatch } from '../sockets/stopwatch.js';
import type { Goaway } from './connection-listener.js';

const GOAWAY_BYTES = 8;
const LONGEST_DEBUG_DATA = 256;

export class Goodbye {
  /** This side opens no new streams. The peer may, as long as it cannot know. */
  isBegun = false;
  /** The peer takes no new streams. */
  isSaidByPeer = false;
  /** The peer's streams after this one are not served. */
  lastStreamId = MAX_STREAM_ID;
  /** The peer was asked to open no more streams here. */
  isAnnounced = false;
  readonly #sender: Sender;
  readonly #time = new Stopwatch();

  constructor(sender: Sender) {
    this.#sender = sender;
  }

  /** Whether the last stream is not said yet. */
  get isUndecided(): boolean {
    return this.isBegun && this.lastStreamId === MAX_STREAM_ID;
  }

  /** Asks the peer to open no more streams here. Streams that it opens all the same are served. */
  announce(): void {
    if (this.isAnnounced || this.isBegun) return;
    this.isAnnounced = true;
    this.write(MAX_STREAM_ID, 'NO_ERROR', '');
  }

  /** Announces it, unless that was done; `onKnown` when the peer must have read the announcement. */
  begin(pings: PingBook, onKnown: () => void): void {
    if (this.isBegun) return;
    this.announce();
    this.isBegun = true;
    pings.send(onKnown);
  }

  /** Says which stream of the peer is the last. */
  decide(lastStreamId: number): void {
    this.isBegun = true;
    this.lastStreamId = lastStreamId;
    this.write(lastStreamId, 'NO_ERROR', '');
  }

  /** Whether the announcement has been on its way for long. */
  isOverdue(now: number, timeout: number): boolean {
    const elapsed = this.#time.look(now, this.isUndecided);
    return this.isUndecided && timeout > 0 && elapsed >= timeout;
  }

  write(lastStreamId: number, code: ErrorCodeName, debugText: string): void {
    const debugData = Buffer.from(debugText.slice(0, LONGEST_DEBUG_DATA), 'latin1');
    const payload = new Uint8Array(GOAWAY_BYTES + debugData.length);
    writeUint32(payload, 0, lastStreamId);
    writeUint32(payload, 4, ERROR_CODE[code]);
    payload.set(debugData, GOAWAY_BYTES);
    this.#sender.writeControl(FRAME.GOAWAY, 0, payload);
  }

  /** The peer's GOAWAY. */
  receive(payload: Buffer): Goaway & { readonly lastStreamId: number } {
    this.isSaidByPeer = true;
    return {
      lastStreamId: readUint31(payload, 0),
      code: nameOfErrorCode(readUint32(payload, 4)),
      debugData: payload.toString('latin1', GOAWAY_BYTES, GOAWAY_BYTES + LONGEST_DEBUG_DATA),
    };
  }
}
