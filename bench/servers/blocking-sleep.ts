// A callable that takes a time that is not this machine's CPU, as one that computes on an accelerator does.

const NEVER = new Int32Array(new SharedArrayBuffer(4));
/** The end of a wait is waited out in a loop, as a sleep is not this exact. */
const GRAIN_MS = 0.15;

/** Blocks its thread for so many milliseconds. */
export function sleep(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  Atomics.wait(NEVER, 0, 0, milliseconds - GRAIN_MS);
  while (performance.now() < end);
}
