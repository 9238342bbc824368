// Which pings of a client are too many. gRPC's clients ping for two reasons: to see whether the server is still there, which
// should be seldom, and to measure how fast data comes, which is often and ends with the data. So a ping is counted when it
// comes soon after the last one and nothing of a call went either way between the two (gRPC's proposal A8).

/** What a connection has carried when a ping comes. */
export interface Traffic {
  /** Frames of calls, both ways together. */
  readonly messageFrames: number;
  /** The system takes nothing: neither data nor answers to pings. */
  readonly isStuck: boolean;
}

export class PingStrikes {
  readonly #max: number;
  #strikes = 0;
  #lastPing = -Infinity;
  #messageFrames = 0;

  /** `max`: how many pings may come too soon; 0: any number. */
  constructor(max: number) {
    this.#max = max;
  }

  /** A ping has come; it counts within `interval` milliseconds of the one before. Says whether it is one too many. */
  pinged(now: number, interval: number, { messageFrames, isStuck }: Traffic): boolean {
    if (messageFrames !== this.#messageFrames) this.#strikes = 0;
    else if (!isStuck && now < this.#lastPing + interval) this.#strikes++;
    this.#messageFrames = messageFrames;
    this.#lastPing = now;
    return this.#max !== 0 && this.#strikes > this.#max;
  }
}
