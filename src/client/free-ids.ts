// Ids for the requests of a stream that are given none.

export class FreeIds {
  #count = 0;

  /** The next number that no open request has. */
  next(open: { has(id: string): boolean }): string {
    let id;
    do id = String(++this.#count);
    while (open.has(id));
    return id;
  }
}
