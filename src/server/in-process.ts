// Lets `tstriton/testing` run a server without ports, through a member of `Triton` that users do not see.

import type { ServedCore } from '../frontend/served-core.js';

/** The key of a method of `Triton` that runs it in this thread, without ports, and returns its {@link ServedCore}. */
export const RUN_IN_PROCESS: unique symbol = Symbol.for('tstriton.runInProcess');

export interface RunsInProcess {
  readonly [RUN_IN_PROCESS]: () => Promise<unknown>;
  stop(): Promise<void>;
}

/** The result of a run in this process. */
export type InProcessCore = ServedCore;
