// Starts again what has died unasked, until it lives, is stopped, or is given up.

import { TritonError } from '../errors.js';
import { pause } from './pause.js';
import { RestartPauses } from './restart-pauses.js';

/** It is given up after this many restarts in a row that failed or lasted less than ten seconds. */
const MOST_RESTARTS = 10;

export interface Restarted {
  /** Its name in messages. */
  readonly called: string;
  /** Aborts when it is stopped. */
  readonly signal: AbortSignal;
  readonly start: () => Promise<void>;
  readonly logError: (message: string) => void;
  /** Called when it does not restart any more. */
  readonly onGivenUp: (error: TritonError) => void;
}

export class Restarts {
  readonly #of: Restarted;
  readonly #pauses = new RestartPauses();

  constructor(of: Restarted) {
    this.#of = of;
  }

  /** `lived`: for how many milliseconds before its death. */
  async after(death: TritonError, lived: number): Promise<void> {
    const { called, signal, start, logError, onGivenUp } = this.#of;
    for (let failure = death; !signal.aborted; lived = 0) {
      const milliseconds = this.#pauses.next(lived);
      if (this.#pauses.failures > MOST_RESTARTS) {
        const message = `${called} is given up after ${MOST_RESTARTS} restarts in a row: ${failure.message}`;
        logError(message);
        return onGivenUp(new TritonError('UNAVAILABLE', message, { cause: failure }));
      }
      await pause(milliseconds, signal);
      if (signal.aborted) return;
      try {
        return await start();
      } catch (thrown) {
        failure = TritonError.from(thrown);
        if (!signal.aborted) logError(`${called} did not start again: ${failure.message}`);
      }
    }
  }
}
