// Pings of a connection in both directions (RFC 9113, section 6.7): ours that wait for an answer, and answers to the peer's.

import { FLAG, FRAME, readUint32, writeUint32 } from './frame.js';
import type { Sender } from './sender.js';

const PING_BYTES = 8;

export class PingBook {
  readonly #sender: Sender;
  /** By the number in their payload. */
  readonly #waiting = new Map<number, () => void>();
  #sent = 0;

  constructor(sender: Sender) {
    this.#sender = sender;
  }

  send(onAnswer: () => void): void {
    this.#sent = (this.#sent + 1) >>> 0;
    this.#waiting.set(this.#sent, onAnswer);
    const payload = new Uint8Array(PING_BYTES);
    writeUint32(payload, PING_BYTES - 4, this.#sent);
    this.#sender.writeControl(FRAME.PING, 0, payload);
  }

  /** False when it answers none of ours. */
  answered(payload: Uint8Array): boolean {
    const number = readUint32(payload, PING_BYTES - 4);
    const onAnswer = this.#waiting.get(number);
    if (onAnswer === undefined || readUint32(payload, 0) !== 0) return false;
    this.#waiting.delete(number);
    onAnswer();
    return true;
  }

  /** Answers a ping of the peer. */
  answer(payload: Uint8Array): void {
    this.#sender.writeControl(FRAME.PING, FLAG.ACK, payload);
  }
}
