// Connections that have something to write at the end of this turn: one call of Node for all of them, after everything that
// the turn has brought, promises included.

export interface Writing {
  write(): void;
}

export class WriteTurn {
  #waiting: Writing[] = [];

  /** Each connection once a turn. */
  add(connection: Writing): void {
    this.#waiting.push(connection);
    if (this.#waiting.length === 1) process.nextTick(this.#end);
  }

  readonly #end = (): void => {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const connection of waiting) connection.write();
  };
}
