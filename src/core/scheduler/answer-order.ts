// Holds answers back until all earlier requests have theirs: the batcher's preserve_ordering, which several
// instances or overlapping batches would break.

interface Turn {
  answer: (() => void) | undefined;
}

/** Releases answers in the order in which their turns were taken. */
export class AnswerOrder {
  readonly #turns = new Map<object, Turn>();
  readonly #order: Turn[] = [];
  #head = 0;

  /** `request` has its place in the order from now on. */
  takeTurn(request: object): void {
    const turn: Turn = { answer: undefined };
    this.#turns.set(request, turn);
    this.#order.push(turn);
  }

  /** Gives the answer of `request` now, or when its turn comes. */
  answer(request: object, answer: () => void): void {
    const turn = this.#turns.get(request);
    if (turn === undefined) return answer();
    this.#turns.delete(request);
    turn.answer = answer;
    for (let next = this.#order[this.#head]; next?.answer !== undefined; next = this.#order[this.#head]) {
      this.#head++;
      next.answer();
    }
    if (this.#head > 1024 && this.#head * 2 > this.#order.length) {
      this.#order.splice(0, this.#head);
      this.#head = 0;
    }
  }
}
