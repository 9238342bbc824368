// Has what is done under one key be done in turn, in the order in which it was asked for. Other keys do not wait.

export class Turns {
  /** What is done last under each key; never rejects. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Settles as the action does. */
  take<T>(key: string, action: () => T | Promise<T>): Promise<T> {
    const done = (this.#last.get(key) ?? Promise.resolve()).then(action);
    const turn = done
      .catch(() => undefined)
      .then(() => {
        if (this.#last.get(key) === turn) this.#last.delete(key);
      });
    this.#last.set(key, turn);
    return done;
  }

  /** The keys under which something is done, or is to be. */
  get busy(): readonly string[] {
    return [...this.#last.keys()];
  }

  /** Resolves when all that was asked for until now is done. */
  async idle(): Promise<void> {
    await Promise.all(this.#last.values());
  }
}
