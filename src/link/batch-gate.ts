// One word of memory that the two sides of a message port share: the number of the batch that lies ready at a busy
// callable. Whoever changes it first has the batch, the callable's side to begin it, the server's to take it back.

const NOTHING = 0;

export class BatchGate {
  /** For the other side's gate. */
  readonly memory: SharedArrayBuffer;
  readonly #word: Int32Array;

  constructor(memory = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.memory = memory;
    this.#word = new Int32Array(memory);
  }

  /** Lays a batch ready; its number is a positive int32. There must be none. */
  open(id: number): void {
    Atomics.store(this.#word, 0, id);
  }

  /** Takes the batch of this number; false when it is not there any more. */
  take(id: number): boolean {
    return Atomics.compareExchange(this.#word, 0, id, NOTHING) === id;
  }

  /** Takes whatever batch there is; undefined when there is none. */
  takeAny(): number | undefined {
    const id = Atomics.exchange(this.#word, 0, NOTHING);
    return id === NOTHING ? undefined : id;
  }
}
