// The same models wherever their callables run: each placement answers as the others do. test/tritonserver/run.sh compares the first
// of them with a real tritonserver.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { devNull } from 'node:os';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { Triton, type TritonConfig } from 'tstriton';

import { CASES, closeClients } from '../tritonserver/cases.mjs';
import { bindModels, bindModelsInThreads } from '../tritonserver/models.mjs';

const TOKEN = 'of the placements';
const BINDER = fileURLToPath(new URL('../tritonserver/binder.mjs', import.meta.url));

interface Placement {
  readonly config?: TritonConfig;
  /** Binds the models in this process. */
  readonly bind?: (triton: Triton) => void;
  /** The further arguments of a process that binds them. */
  readonly binder?: readonly string[];
}

const PLACEMENTS: Readonly<Record<string, Placement>> = {
  'the main thread, the server in a thread': { bind: bindModels },
  'the thread of the server': { bind: bindModels, config: { serverThread: false } },
  'threads of the instances': { bind: bindModelsInThreads },
  'another process': { binder: [] },
  'threads of another process': { binder: ['threads'] },
};

const tritons: Triton[] = [];
const processes: ChildProcess[] = [];
let engines: readonly { readonly http: string; readonly grpc: string }[];

async function start({ config, bind, binder }: Placement) {
  const triton = new Triton({
    httpPort: 0,
    grpcPort: 0,
    metricsPort: 0,
    logFile: devNull,
    cacheConfig: 'local,size=1048576',
    ...(binder !== undefined && { remoteAccessToken: TOKEN }),
    ...config,
  });
  tritons.push(triton);
  bind?.(triton);
  await triton.run();
  if (binder !== undefined) {
    const args = [BINDER, `127.0.0.1:${triton.grpcPort}`, TOKEN, ...binder];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    processes.push(child);
    // That is all that it writes.
    await once(child.stdout, 'data');
  }
  return { http: `http://127.0.0.1:${triton.httpPort}`, grpc: `grpc://127.0.0.1:${triton.grpcPort}` };
}

beforeAll(async () => {
  engines = await Promise.all(Object.values(PLACEMENTS).map(start));
});

afterAll(async () => {
  await closeClients();
  const ended = processes.map((child) => once(child, 'exit'));
  for (const child of processes) child.kill('SIGTERM');
  await Promise.all(ended);
  await Promise.all(tritons.map((triton) => triton.stop()));
});

// In turn, because the statistics of the last ones count the requests of the first.
it.each(CASES)('wherever callables run, $name', async ({ ask }) => {
  const answers: Record<string, unknown> = {};
  for (const [index, name] of Object.keys(PLACEMENTS).entries()) {
    answers[name] = await ask(engines[index]!).catch((error: unknown) => `threw ${String(error)}`);
  }
  const [first] = Object.values(answers);
  expect(answers).toEqual(Object.fromEntries(Object.keys(answers).map((name) => [name, first])));
});
