// A doubly linked list whose items carry the links. An item can leave from the middle at no cost, and leaves nothing
// behind: V8 keeps the old tables of a set that changes all the time, with their contents, until it marks the heap.

/** The links of an item of a {@link LinkedList}. An item is in one list at a time. */
export interface Linked<T> {
  previous: T | undefined;
  next: T | undefined;
}

export class LinkedList<T extends Linked<T>> {
  /** Only the list sets it. */
  first: T | undefined;
  #last: T | undefined;

  /** From the first to the last. Meanwhile only the current item may leave the list. */
  *[Symbol.iterator](): Generator<T, void, undefined> {
    for (let item = this.first; item !== undefined;) {
      const { next } = item;
      yield item;
      item = next;
    }
  }

  /** Appends an item that is in no list. */
  push(item: T): void {
    item.previous = this.#last;
    if (this.#last === undefined) this.first = item;
    else this.#last.next = item;
    this.#last = item;
  }

  /** Puts an item that is in no list in front of all. */
  unshift(item: T): void {
    item.next = this.first;
    if (this.first === undefined) this.#last = item;
    else this.first.previous = item;
    this.first = item;
  }

  /** Takes out an item of this list. */
  remove(item: T): void {
    if (item.previous === undefined) this.first = item.next;
    else item.previous.next = item.next;
    if (item.next === undefined) this.#last = item.previous;
    else item.next.previous = item.previous;
    item.previous = undefined;
    item.next = undefined;
  }
}
