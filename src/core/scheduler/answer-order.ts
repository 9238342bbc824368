// Holds answers back until all earlier requests have theirs: the batcher's preserve_ordering, which several
// instances or overlapping batches would break.

import { Ring } from '../../ring.js';

interface Turn {
  answer: (() => void) | undefined;
}

/** Forgets an answer that waits for its turn, and says whether it still did. */
export type Withdrawal = () => boolean;

/** Releases answers in the order in which their turns were taken. */
export class AnswerOrder {
  /** The turns of the requests that have no answer yet. */
  readonly #unanswered = new Map<object, Turn>();
  readonly #order = new Ring<Turn>();

  /** `request` has its place in the order from now on, unless it has one. */
  takeTurn(request: object): void {
    if (this.#unanswered.has(request)) return;
    const turn: Turn = { answer: undefined };
    this.#unanswered.set(request, turn);
    this.#order.push(turn);
  }

  /** Nobody waits for the answer of `request`: it gives up its turn. */
  leave(request: object): void {
    if (this.#unanswered.has(request)) this.answer(request, NOTHING);
  }

  /** Gives the answer of `request` now, or when its turn comes. Until then it can be withdrawn. */
  answer(request: object, answer: () => void): Withdrawal | undefined {
    const turn = this.#unanswered.get(request);
    if (turn === undefined) {
      answer();
      return undefined;
    }
    this.#unanswered.delete(request);
    turn.answer = answer;
    // An answer may lead to another one, which then goes on from where this loop is.
    for (let first = this.#order.at(0); first?.answer !== undefined; first = this.#order.at(0)) {
      this.#order.shift();
      const given = first.answer;
      first.answer = undefined;
      given();
    }
    if (turn.answer === undefined) return undefined;
    return () => {
      const waits = turn.answer !== undefined;
      if (waits) turn.answer = NOTHING;
      return waits;
    };
  }
}

const NOTHING = (): void => undefined;
