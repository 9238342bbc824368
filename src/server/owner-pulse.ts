// Tells the server's thread whether the user's thread, in which callables run, still gets round to anything. A callable that does
// not come to an end keeps all others of that thread from answering.

const BEAT_MILLISECONDS = 1000;
/** So many looks in a row without a beat. They are the watching thread's own: a process that is suspended or starved makes none. */
const LOOKS = 10;

/** In the user's thread. */
export class OwnerPulse {
  /** Their number, which wraps round, in memory that both threads see. */
  readonly beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#timer = setInterval(() => this.beat(), BEAT_MILLISECONDS);
    this.#timer.unref();
  }

  /** Also called with each batch: where one message follows the other, Node gets to its timers late. */
  beat(): void {
    Atomics.add(this.beats, 0, 1);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** In the server's thread, for as long as that lives. */
export function watchPulse(beats: Int32Array, onBlocked: (isBlocked: boolean) => void): void {
  let last = Atomics.load(beats, 0);
  let missed = 0;
  const look = () => {
    const now = Atomics.load(beats, 0);
    if (now === last) {
      if (++missed === LOOKS) onBlocked(true);
      return;
    }
    last = now;
    if (missed >= LOOKS) onBlocked(false);
    missed = 0;
  };
  setInterval(look, BEAT_MILLISECONDS).unref();
}
