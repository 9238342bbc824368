// A doubly linked list whose items carry the links. An item can leave from the middle at no cost, and leaves nothing
// behind. Queues need this, because their requests are cancelled and expire.

/** The links of an item of a {@link LinkedList}. An item is in one list at a time. */
export interface Linked<T> {
  previous: T | undefined;
  next: T | undefined;
}

export class LinkedList<T extends Linked<T>> {
  /** Only the list sets it. */
  first: T | undefined;
  #last: T | undefined;

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
