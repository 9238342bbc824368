// A doubly linked list whose items carry the links: items leave from the middle at no cost and nothing of them
// stays behind, as queues need whose requests are cancelled and expire.

/** What an item of a {@link LinkedList} must have. It is in one list at a time. */
export interface Linked<T> {
  previous: T | undefined;
  next: T | undefined;
}

export class LinkedList<T extends Linked<T>> {
  #first: T | undefined;
  #last: T | undefined;

  get first(): T | undefined {
    return this.#first;
  }

  /** Appends an item that is in no list. */
  push(item: T): void {
    item.previous = this.#last;
    if (this.#last === undefined) this.#first = item;
    else this.#last.next = item;
    this.#last = item;
  }

  /** Takes out an item of this list. */
  remove(item: T): void {
    if (item.previous === undefined) this.#first = item.next;
    else item.previous.next = item.next;
    if (item.next === undefined) this.#last = item.previous;
    else item.next.previous = item.previous;
    item.previous = undefined;
    item.next = undefined;
  }
}
