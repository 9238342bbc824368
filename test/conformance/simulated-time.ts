// Exchanges with a server in this thread in which moments matter: the clock stands still, and goes on when all that was to
// happen at a moment has happened.
import type { ClientHttp2Session } from 'node:http2';
import { vi } from 'vitest';

const STEP_MS = 10;
/** Longer than any model of the recordings works. */
const AFTERWARDS_MS = 1_000;

/** Lets so many milliseconds pass during an exchange on the session, and then whatever time is left to a model. */
export async function inSimulatedTime<T>(
  session: ClientHttp2Session,
  milliseconds: number,
  exchange: () => Promise<T>,
): Promise<T> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const over = exchange();
    await roundTrips(session);
    for (let passed = 0; passed < milliseconds; passed += STEP_MS) {
      vi.advanceTimersByTime(STEP_MS);
      await roundTrips(session);
    }
    vi.advanceTimersByTime(AFTERWARDS_MS);
    return await over;
  } finally {
    vi.useRealTimers();
  }
}

/** Resolves when the server has read what was sent before, and what it sent then has come. */
export async function roundTrips(session: ClientHttp2Session): Promise<void> {
  // The first may pass by what waits to be written. Settings, because a client must not ping so often.
  for (let trip = 0; trip < 2; trip++) await new Promise<void>((resolve) => session.settings({}, () => resolve()));
}
