// When everything has been read that sockets have by now.

/** Calls back after the event loop has looked at all sockets once more, whatever phase it is in. */
export function afterReading(callback: () => void): void {
  setImmediate(() => setImmediate(callback));
}
