// Which pings of a client are too many. gRPC's clients ping for two reasons: to see whether the server is still there, which
// should be seldom, and to measure how fast data comes, which is often and ends with the data. So a ping is counted when it
// comes soon after the last one and nothing of a call went either way between the two (gRPC's proposal A8).

/** What a ping's answer takes on the wire. */
const ANSWER_BYTES = 17;

/** What a connection has sent when a ping comes. */
export interface SentSoFar {
  /** All its bytes that the system has been given. */
  readonly bytes: number;
  /** Whether a call has written what is not among them. */
  readonly unsent: boolean;
}

export class PingStrikes {
  readonly #max: number;
  #strikes = 0;
  #lastPing = -Infinity;
  #pings = 0;
  #sentBytes = 0;
  #unsent = false;
  /** Of what has been sent, what cannot have been answers to pings. */
  #otherBytes = 0;

  /** `max`: how many pings may come too soon; 0: any number. */
  constructor(max: number) {
    this.#max = max;
  }

  /** Headers or data of a call have come, or are about to be sent. */
  dataMoved(): void {
    this.#strikes = 0;
    this.#lastPing = -Infinity;
  }

  /** A ping has come; it counts within `interval` milliseconds of the one before. Says whether it is one too many. */
  pinged(now: number, interval: number, { bytes, unsent }: SentSoFar): boolean {
    // Answers may still wait in the queue: then this is less than it seems, and is seen with a later ping.
    const otherBytes = bytes - ANSWER_BYTES * this.#pings++;
    const isMore = otherBytes > this.#otherBytes;
    if (isMore) this.#otherBytes = otherBytes;
    // Otherwise those are settings or windows.
    if (isMore && this.#unsent) this.dataMoved();
    this.#unsent = unsent;
    // Not even the last answer is gone: the system has not taken the data before it.
    const isStuck = unsent && bytes === this.#sentBytes;
    this.#sentBytes = bytes;
    if (!isStuck && now < this.#lastPing + interval) this.#strikes++;
    this.#lastPing = now;
    return this.#max !== 0 && this.#strikes > this.#max;
  }
}
