// Lets `tstriton/testing` run a server without ports, through a member of `Triton` that users do not see.

/** The key of a method of `Triton` that runs it in this thread, without ports, and returns an {@link InProcessRun}. */
export const RUN_IN_PROCESS: unique symbol = Symbol.for('tstriton.runInProcess');

export interface RunsInProcess {
  readonly [RUN_IN_PROCESS]: () => Promise<unknown>;
  stop(): Promise<void>;
}
