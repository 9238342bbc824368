// A whole server in this process, without ports and without a thread, for tests of applications.

import { textOf } from '../checks/check.js';
import { invalidArg } from '../errors.js';
import { OPEN_TRANSPORT, type InProcessServer } from '../in-process/open-transport.js';
import type { InProcessRun } from '../frontend/served-core.js';
import { RUN_IN_PROCESS, type RunsInProcess } from '../server/in-process.js';
import { InProcessTransport } from '../in-process/in-process-transport.js';

/** What `inProcess` gives: clients take it in the place of a URL. */
export interface RunningInProcess extends InProcessServer, AsyncDisposable {
  /** As `stop` of the Triton. */
  stop(): Promise<void>;
}

/**
 * Runs `triton` in this process: its models load, no port is opened, and `serverThread` does not count. Clients get it in the place
 * of a URL. Clients see the same as over gRPC. Access tokens are not asked for.
 *
 * Rejects as `run` does.
 *
 * @example
 * await using server = await inProcess(triton);
 * await using client = new ModelClient(server, addSub);
 */
export async function inProcess(triton: RunsInProcess): Promise<RunningInProcess> {
  if (typeof (triton as Partial<RunsInProcess> | null)?.[RUN_IN_PROCESS] !== 'function')
    throw invalidArg(`inProcess takes a Triton, got ${textOf(triton)}`);
  const run = (await triton[RUN_IN_PROCESS]()) as InProcessRun;
  const stop = () => triton.stop();
  return {
    [OPEN_TRANSPORT]: () => new InProcessTransport(async () => run),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
