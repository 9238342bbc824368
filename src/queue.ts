// First in, first out. `Array.prototype.shift` moves all items once there are more than some ten thousand, so that taking them
// one by one costs the square of their number.

/** From this many taken items on, their places are given back when they are half of all. */
const MANY_TAKEN = 1024;

export class Queue<T> {
  #items: (T | undefined)[] = [];
  #taken = 0;

  get length(): number {
    return this.#items.length - this.#taken;
  }

  /** Appends an item. Returns the new length. */
  push(item: T): number {
    return this.#items.push(item) - this.#taken;
  }

  /** Takes the first item; undefined when there is none. */
  shift(): T | undefined {
    const items = this.#items;
    if (this.#taken === items.length) return undefined;
    const item = items[this.#taken];
    items[this.#taken++] = undefined;
    if (this.#taken === items.length) this.clear();
    else if (this.#taken >= MANY_TAKEN && this.#taken * 2 >= items.length) {
      this.#items = items.slice(this.#taken);
      this.#taken = 0;
    }
    return item;
  }

  clear(): void {
    this.#items.length = 0;
    this.#taken = 0;
  }
}
