// Tells the server's thread whether the user's thread, in which callables run, still makes progress. A callable that
// never ends keeps all others of that thread from answering.

const BEAT_MILLISECONDS = 1000;
/**
 * Looks in a row without a beat, before the thread counts as blocked. The watching thread makes them, so a suspended or
 * starved process makes none.
 */
const LOOKS = 10;

/** The pulse of the user's thread. */
export class OwnerPulse {
  /** The number of beats, which wraps round, in memory that both threads share. */
  readonly beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#timer = setInterval(() => this.beat(), BEAT_MILLISECONDS);
    this.#timer.unref();
  }

  /** Counts a beat. Each batch counts one too, because Node runs timers late while one message follows another. */
  beat(): void {
    Atomics.add(this.beats, 0, 1);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** Watches the pulse in the server's thread, for as long as that lives. */
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
