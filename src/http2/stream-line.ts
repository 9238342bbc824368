// Streams that wait for something, in order. Each stands in one line at most and can leave it from anywhere at once: a
// peer that opens and resets streams leaves nothing behind.

export interface Waiting<T extends Waiting<T>> {
  line: StreamLine<T> | undefined;
  ahead: T | undefined;
  behind: T | undefined;
}

export class StreamLine<T extends Waiting<T>> {
  /** Only to be looked at. */
  first: T | undefined;
  #last: T | undefined;

  /** Behind all others. It must stand in no line. */
  join(stream: T): void {
    stream.line = this;
    stream.ahead = this.#last;
    if (this.#last === undefined) this.first = stream;
    else this.#last.behind = stream;
    this.#last = stream;
  }

  leave(stream: T): void {
    const { ahead, behind } = stream;
    if (ahead === undefined) this.first = behind;
    else ahead.behind = behind;
    if (behind === undefined) this.#last = ahead;
    else behind.ahead = ahead;
    stream.line = undefined;
    stream.ahead = undefined;
    stream.behind = undefined;
  }
}
