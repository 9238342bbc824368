// Our side of the comparison of batching: a server with the models of all workloads, in a process of its own as Triton is.

import { fork } from 'node:child_process';
import { devNull } from 'node:os';
import { fileURLToPath } from 'node:url';

import { Triton, TritonError } from 'tstriton';
import type { InferFunc } from 'tstriton';

import { BATCH_MS, ROW_MS, specOf, WORKLOADS } from './batching-workloads.js';
import type { BatchingWorkload } from './batching-workloads.js';

const CACHE_CONFIG = 'local,size=1048576';

/** Where one of the two servers listens. */
export interface ServerPorts {
  readonly http: number;
  readonly grpc: number;
  readonly metrics: number;
}

type Spec = ReturnType<typeof specOf>;

const NEVER = new Int32Array(new SharedArrayBuffer(4));

// Sleeping blocks the thread, and two instances sleep at the same time: so they wait instead.
async function sleep(milliseconds: number, { instances }: BatchingWorkload): Promise<void> {
  if (instances > 1) await new Promise((resolve) => setTimeout(resolve, milliseconds));
  else Atomics.wait(NEVER, 0, 0, milliseconds);
}

/** Serves the models until the process that forked this one ends it. */
export async function serve(): Promise<void> {
  const triton = new Triton({ httpPort: 0, grpcPort: 0, metricsPort: 0, cacheConfig: CACHE_CONFIG, logFile: devNull });
  let executions = 0n;
  for (const workload of WORKLOADS) {
    const answer: InferFunc<Spec['inputs'], Spec['outputs'], false> = async (requests) => {
      const execution = executions++;
      const rows = requests.reduce((sum, { inputs }) => sum + inputs.x.shape[0]!, 0);
      await sleep(BATCH_MS + ROW_MS * rows, workload);
      return requests.map(({ inputs: { x } }) =>
        x.data[1]! < 0
          ? new TritonError('INTERNAL', `refused by execution ${execution}`)
          : { execution: new BigInt64Array(x.shape[0]!).fill(execution) },
      );
    };
    triton.bind({ ...specOf(workload), inferFunc: Array.from({ length: workload.instances }, () => answer) });
  }
  await triton.run();
  process.on('disconnect', () => void triton.stop());
  process.send?.({
    http: triton.httpPort!,
    grpc: triton.grpcPort!,
    metrics: triton.metricsPort!,
  } satisfies ServerPorts);
}

/** Starts `script serve`, which calls {@link serve}. */
export async function startOurs(script: string): Promise<{ readonly ports: ServerPorts; stop(): Promise<unknown> }> {
  const child = fork(fileURLToPath(script), ['serve']);
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const ports = await new Promise<ServerPorts>((resolve, reject) => {
    child.once('message', resolve as (message: unknown) => void);
    child.once('exit', (code) => reject(new Error(`our server did not start: exit code ${code}`)));
  });
  return {
    ports,
    stop: () => {
      child.disconnect();
      return exited;
    },
  };
}
