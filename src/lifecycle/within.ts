// Waits for something, but not for ever.

export const TIMED_OUT = Symbol('timed out');

/** Awaits `promise`, or gives TIMED_OUT after `seconds`. */
export async function within(promise: Promise<unknown>, seconds: number): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise((resolve) => (timer = setTimeout(resolve, seconds * 1000, TIMED_OUT)));
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
