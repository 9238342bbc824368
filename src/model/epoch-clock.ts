// The wall clock with fractions of a millisecond, alike in all threads of a process: what spans are timed by. The
// monotonic clock gives the fractions; where the wall clock was set meanwhile, the wall clock counts.

/** Milliseconds since the epoch. */
export function epochNow(): number {
  const precise = performance.timeOrigin + performance.now();
  const wall = Date.now();
  // Date.now() has lost its fraction.
  return precise > wall - TOLERANCE && precise < wall + 1 + TOLERANCE ? precise : wall;
}

const TOLERANCE = 1;
