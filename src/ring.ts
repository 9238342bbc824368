// A first-in first-out queue in a power-of-two ring: O(1) at both ends whatever its length, where
// `Array.shift` is linear.
//
//   items: [ 4, 5, ·, ·, 1, 2, 3 ,… ]     head ─▶ 1, tail ─▶ the slot after 5

export class Ring<T> {
  #items: (T | undefined)[] = new Array<T | undefined>(16);
  #head = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(item: T): void {
    if (this.#length === this.#items.length) this.#grow();
    this.#items[(this.#head + this.#length) & (this.#items.length - 1)] = item;
    this.#length++;
  }

  /** The item at `index` from the head, or undefined beyond the tail. */
  at(index: number): T | undefined {
    return index < this.#length ? this.#items[(this.#head + index) & (this.#items.length - 1)] : undefined;
  }

  shift(): T | undefined {
    if (this.#length === 0) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head] = undefined;
    this.#head = (this.#head + 1) & (this.#items.length - 1);
    this.#length--;
    return item;
  }

  clear(): void {
    this.#items = new Array<T | undefined>(16);
    this.#head = this.#length = 0;
  }

  #grow(): void {
    const items = new Array<T | undefined>(this.#items.length * 2);
    for (let i = 0; i < this.#length; i++) items[i] = this.at(i);
    this.#items = items;
    this.#head = 0;
  }
}
