// When everything has been read that sockets have by now.

/** A busy thread may have no short turn of the event loop for long. */
const MOST_TURNS = 100;
/** In a longer turn something may have come since the event loop looked. */
const SHORT_TURN_MILLISECONDS = 2;

/** Calls back after the event loop has looked at all sockets once more, whatever phase it is in. */
export function afterReading(callback: () => void): void {
  setImmediate(() => setImmediate(callback));
}

/**
 * The same at the end of a short turn: in a long one more may have come since the look. `isQuiet`, called in each turn, may ask for
 * another one. After 100 turns it does not wait further.
 */
export function rightAfterReading(callback: () => void, isQuiet = (): boolean => true, turnsLeft = MOST_TURNS): void {
  const begin = performance.now();
  setImmediate(() => {
    const isEnough = isQuiet() && performance.now() - begin <= SHORT_TURN_MILLISECONDS;
    // The first turn may have begun after its look.
    if (turnsLeft < MOST_TURNS && (isEnough || turnsLeft <= 0)) callback();
    else rightAfterReading(callback, isQuiet, turnsLeft - 1);
  });
}
