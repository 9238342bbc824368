// Several signals as one, for as long as something takes: nothing is left on signals that live longer. (AbortSignal.any
// is not in every Node 20.)

/** A signal that aborts with the first of these, until it is released. */
export function joinSignals(signals: readonly (AbortSignal | undefined)[]): {
  readonly signal: AbortSignal;
  readonly release: () => void;
} {
  const given = signals.filter((signal) => signal !== undefined);
  const controller = new AbortController();
  const abort = () => controller.abort();
  for (const signal of given) {
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort);
  }
  const release = () => {
    for (const signal of given) signal.removeEventListener('abort', abort);
  };
  return { signal: controller.signal, release };
}

/** Runs `action` with a signal that aborts with the first of these. */
export async function withSignals<T>(
  signals: readonly (AbortSignal | undefined)[],
  action: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal, release } = joinSignals(signals);
  try {
    return await action(signal);
  } finally {
    release();
  }
}
