// A signal and its controller in one, at a tenth of their cost, where no user sees it.

export class AbortSource {
  aborted = false;
  #callbacks: Set<() => void> | undefined;

  /** Calls back when it aborts, not if it has already. Returns the function that ends it. */
  follow(callback: () => void): () => void {
    const callbacks = (this.#callbacks ??= new Set());
    callbacks.add(callback);
    return () => callbacks.delete(callback);
  }

  abort(): void {
    if (this.aborted) return;
    this.aborted = true;
    for (const each of this.#callbacks ?? []) each();
  }
}
