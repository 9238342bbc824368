// Work between the core's answer and the socket, which a server that stops has to wait for: the core knows of it no more.

export class PendingWork {
  #count = 0;
  #idle: (() => void)[] = [];

  /** Returns what to call when the work is done. */
  begin(): () => void {
    this.#count++;
    return () => {
      if (--this.#count > 0) return;
      const waiting = this.#idle;
      this.#idle = [];
      for (const resolve of waiting) resolve();
    };
  }

  /** Resolves when there is none. */
  done(): Promise<void> {
    return this.#count === 0 ? Promise.resolve() : new Promise((resolve) => this.#idle.push(resolve));
  }
}
