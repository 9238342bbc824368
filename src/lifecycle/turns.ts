// Runs the actions under one key one after the other, in the order of the calls. Other keys do not wait.

export class Turns {
  /** The last action under each key; never rejects. */
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

  /** The keys with running or waiting actions. */
  get busy(): readonly string[] {
    return [...this.#last.keys()];
  }

  isBusy(key: string): boolean {
    return this.#last.has(key);
  }

  /** Resolves when all actions that were taken so far are done. */
  async idle(): Promise<void> {
    await Promise.all(this.#last.values());
  }
}
