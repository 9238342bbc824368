// One flow-control window of what the peer may send (RFC 9113, section 6.9). Bytes that were received are given back when
// they are consumed, in portions of half the window: small answers cost no WINDOW_UPDATE at all.

export class ReceiveWindow {
  /** What the peer may still send. */
  available: number;
  /** Consumed, but not given back yet. */
  #owed = 0;
  #size: number;

  constructor(size: number) {
    this.#size = size;
    this.available = size;
  }

  /** A frame came. False when it is larger than the window. */
  take(bytes: number): boolean {
    this.available -= bytes;
    return this.available >= 0;
  }

  /** Bytes were consumed. Returns by how much to enlarge the peer's window now, 0 for not yet. */
  consume(bytes: number): number {
    this.#owed += bytes;
    if (this.#owed * 2 < this.#size || this.#owed === 0) return 0;
    const increment = this.#owed;
    this.#owed = 0;
    this.available += increment;
    return increment;
  }

  /** SETTINGS_INITIAL_WINDOW_SIZE has changed; the available bytes may become negative (section 6.9.2). */
  resize(size: number): void {
    this.available += size - this.#size;
    this.#size = size;
  }
}
