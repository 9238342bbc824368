// How `tstriton/testing` runs a server without ports: what it may ask of a `Triton`, which keeps it from users' sight.

import type { ServedCore } from '../frontend/served-core.js';

/** Of a `Triton`: runs it in this thread, without ports, and gives its {@link ServedCore}. */
export const RUN_IN_PROCESS: unique symbol = Symbol.for('tstriton.runInProcess');

export interface RunsInProcess {
  readonly [RUN_IN_PROCESS]: () => Promise<unknown>;
  stop(): Promise<void>;
}

/** What a run in this process gives. */
export type InProcessCore = ServedCore;
