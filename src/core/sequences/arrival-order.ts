// Keeps the requests of a sequence in order of arrival until their scheduler has them. Some are prepared in pieces, and the next
// request of the same sequence must not overtake them.

import type { RequestSequence } from '../../model/request-sequence.js';
import { Ring } from '../../ring.js';

type SequenceId = RequestSequence['id'];

export class ArrivalOrder {
  /** The requests that their scheduler does not have, of each sequence that has any. */
  readonly #lines = new Map<SequenceId, Ring<PlaceInLine>>();

  /** A request of a sequence has come. Its place must be left once. */
  join(id: SequenceId): PlaceInLine {
    let line = this.#lines.get(id);
    if (line === undefined) this.#lines.set(id, (line = new Ring()));
    const place = new PlaceInLine(() => this.#advance(id, line));
    line.push(place);
    return place;
  }

  /** Whether a request of the sequence is still under preparation. */
  has(id: SequenceId): boolean {
    return this.#lines.has(id);
  }

  #advance(id: SequenceId, line: Ring<PlaceInLine>): void {
    for (let first = line.at(0); first?.isLeft === true; first = line.at(0)) {
      line.shift();
      // Before the request goes on: it may have others join.
      if (line.length === 0) this.#lines.delete(id);
      first.goOn();
    }
  }
}

/** The place of one request in the line of its sequence. */
export class PlaceInLine {
  readonly #onLeft: () => void;
  #admit: (() => void) | undefined;
  #isLeft = false;

  constructor(onLeft: () => void) {
    this.#onLeft = onLeft;
  }

  get isLeft(): boolean {
    return this.#isLeft;
  }

  /** The request is prepared: `admit` is called when all before it have left. Without `admit` the request was refused. */
  leave(admit?: () => void): void {
    if (this.#isLeft) return;
    this.#admit = admit;
    this.#isLeft = true;
    this.#onLeft();
  }

  goOn(): void {
    this.#admit?.();
  }
}
