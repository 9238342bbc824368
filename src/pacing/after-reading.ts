// When everything has been read that sockets have by now.

/** Between two looks at the sockets there are so many turns of the event loop at most that are not short. */
const MOST_TURNS = 100;
/** In a longer turn something may have come since the event loop looked. */
const SHORT_TURN_MILLISECONDS = 2;

/** Calls back after the event loop has looked at all sockets once more, whatever phase it is in. */
export function afterReading(callback: () => void): void {
  setImmediate(() => setImmediate(callback));
}

/**
 * The same at the end of a short turn, so that hardly anything has come since the look. A thread that is busy for long has such a
 * look after 100 turns.
 */
export function rightAfterReading(callback: () => void, turnsLeft = MOST_TURNS): void {
  const begin = performance.now();
  setImmediate(() => {
    const isShort = performance.now() - begin <= SHORT_TURN_MILLISECONDS;
    // The first turn may have begun after its look.
    if (turnsLeft < MOST_TURNS && (isShort || turnsLeft <= 0)) callback();
    else rightAfterReading(callback, turnsLeft - 1);
  });
}
