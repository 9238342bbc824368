// Whether a client that cannot be heard is still there: one that has closed its sending half, or that is not read for a while.
// Its end of the connection tells nothing by itself. But the system of a client that is gone answers each byte with a reset, and
// Node learns of a reset when it writes to the socket, be it nothing.

import type { Socket } from 'node:net';

import { afterReading } from '../pacing/after-reading.js';

/** From the second look to the third. Each further one comes after twice the time. */
const FIRST_PAUSE_MILLISECONDS = 1;
/** From the first byte to the second. Each further one comes after twice the time. */
const FIRST_ROUND_MILLISECONDS = 1000;

const NOTHING = Buffer.alloc(0);

export class Presence {
  readonly #socket: Socket;
  readonly #sendByte: () => void;
  #isWatching = false;
  #timer: NodeJS.Timeout | undefined;

  /** `sendByte` sends the client something, where there is something that it may be sent. */
  constructor(socket: Socket, sendByte: () => void) {
    this.#socket = socket;
    this.#sendByte = sendByte;
  }

  /** Looks again and again while `isUnheard`. A socket whose client is gone is destroyed, as after any write that failed. */
  watch(isUnheard: boolean): void {
    if (isUnheard === this.#isWatching) return;
    this.stop();
    if (!isUnheard) return;
    this.#isWatching = true;
    this.#round(FIRST_ROUND_MILLISECONDS);
  }

  stop(): void {
    this.#isWatching = false;
    clearTimeout(this.#timer);
  }

  #round(milliseconds: number): void {
    this.#sendByte();
    // A reset from this machine is here by then.
    afterReading(() => this.#look());
    this.#lookLater(FIRST_PAUSE_MILLISECONDS, milliseconds, milliseconds);
  }

  #lookLater(pause: number, left: number, round: number): void {
    this.#timer = setTimeout(() => {
      this.#look();
      if (left <= pause) this.#round(2 * round);
      else this.#lookLater(Math.min(2 * pause, left - pause), left - pause, round);
    }, pause).unref();
  }

  #look(): void {
    const socket = this.#socket;
    // Waiting writes fail by themselves.
    if (this.#isWatching && socket.writable && socket.writableLength === 0) socket.write(NOTHING);
  }
}
