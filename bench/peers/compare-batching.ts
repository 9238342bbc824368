// The same arrivals to a real tritonserver and to ours, on models with the same batcher, and what each made of them.
//
//   node build/bench/peers/compare-batching.js repository FOLDER     writes Triton's model repository
//   tritonserver --model-repository FOLDER …                         (see docs/batching.md)
//   node build/bench/peers/compare-batching.js compare PORT [names]  PORT: Triton's gRPC port; prints a table

import { fork } from 'node:child_process';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { devNull } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { batch, Triton, TritonError } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { describeMachine, loadAverage } from '../machine.js';
import { percentile } from '../statistics.js';
import { formatFigure } from '../table.js';
import { BATCH_MS, configPbtxt, ROW_MS, specOf, WORKLOADS } from './batching-workloads.js';
import type { BatchingArrival, BatchingWorkload } from './batching-workloads.js';

// Compiled, this module is build/bench/peers/compare-batching.js.
const MODEL = new URL('../../../bench/peers/triton-model.py', import.meta.url);

interface Answered {
  readonly arrival: BatchingArrival;
  readonly ms: number;
  readonly execution: bigint | undefined;
  readonly refusal: string | undefined;
}

async function writeRepository(folder: string): Promise<void> {
  for (const workload of WORKLOADS) {
    await mkdir(join(folder, workload.name, '1'), { recursive: true });
    await writeFile(join(folder, workload.name, 'config.pbtxt'), configPbtxt(workload));
    await copyFile(fileURLToPath(MODEL), join(folder, workload.name, '1', 'model.py'));
  }
}

type Spec = ReturnType<typeof specOf>;

const NEVER = new Int32Array(new SharedArrayBuffer(4));

/** Serves the models until the process that forked this one ends it. */
async function serve(): Promise<void> {
  const triton = new Triton({ httpPort: 0, grpcPort: 0, allowMetrics: false, logFile: devNull });
  let executions = 0n;
  for (const workload of WORKLOADS) {
    // Sleeping blocks the thread, and two instances sleep at the same time: so they wait instead.
    const sleep = async (milliseconds: number): Promise<void> => {
      if (workload.instances > 1) await new Promise((resolve) => setTimeout(resolve, milliseconds));
      else Atomics.wait(NEVER, 0, 0, milliseconds);
    };
    const callable = batch<Spec['inputs'], Spec['outputs'], false>(async ({ x }) => {
      const rows = x.shape[0]!;
      const execution = executions++;
      await sleep(BATCH_MS + ROW_MS * rows);
      return { execution: new BigInt64Array(rows).fill(execution) };
    });
    triton.bind({ ...specOf(workload), inferFunc: Array.from({ length: workload.instances }, () => callable) });
  }
  await triton.run();
  process.on('disconnect', () => void triton.stop());
  process.send?.(triton.grpcPort);
}

/** Our server, in a process of its own as Triton is. */
async function startOurs(): Promise<{ readonly port: number; stop(): Promise<unknown> }> {
  const child = fork(fileURLToPath(import.meta.url), ['serve']);
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const port = await new Promise<number>((resolve, reject) => {
    child.once('message', resolve as (message: unknown) => void);
    child.once('exit', (code) => reject(new Error(`our server did not start: exit code ${code}`)));
  });
  return {
    port,
    stop: () => {
      child.disconnect();
      return exited;
    },
  };
}

async function play(url: string, workload: BatchingWorkload): Promise<readonly Answered[]> {
  await using client = new ModelClient(url, specOf(workload));
  const ask = async (arrival: BatchingArrival, dueAt: number): Promise<Answered> => {
    const { rows, priority } = arrival;
    try {
      const answer = await client.inferBatch({ x: new Float32Array(2 * rows) }, { parameters: { priority } });
      return { arrival, ms: performance.now() - dueAt, execution: answer.execution.data[0]!, refusal: undefined };
    } catch (error) {
      const { code, message } = TritonError.from(error);
      const refusal = `${code} ${message.replace(/^\[request id: [^\]]*\] /, '')}`;
      return { arrival, ms: performance.now() - dueAt, execution: undefined, refusal };
    }
  };
  // The connection, and code that has run before.
  for (let i = 0; i < 20; i++) await ask({ atMs: 0, rows: 1, priority: 2 }, performance.now());
  const startedAt = performance.now() + 20;
  const answers: Promise<Answered>[] = [];
  for (const arrival of workload.arrivals) {
    const dueAt = startedAt + arrival.atMs;
    const early = dueAt - performance.now();
    if (early > 0.5) await new Promise((resolve) => setTimeout(resolve, early));
    answers.push(ask(arrival, dueAt));
  }
  // The client is closed behind this.
  return await Promise.all(answers);
}

function rowOf(workload: BatchingWorkload, server: string, answers: readonly Answered[]): string {
  const served = answers.filter(({ execution }) => execution !== undefined);
  const executions = new Set(served.map(({ execution }) => execution)).size;
  const rows = served.reduce((sum, { arrival }) => sum + arrival.rows, 0);
  const latencies = (some: readonly Answered[], share: number) =>
    formatFigure(
      percentile(
        some.map(({ ms }) => ms).sort((a, b) => a - b),
        share,
      ),
    );
  const urgent = served.filter(({ arrival }) => arrival.priority === 1);
  const refused = answers.filter(({ refusal }) => refusal !== undefined);
  const texts = [...new Set(refused.map(({ refusal }) => refusal))].join(', ');
  const cells = [
    workload.about,
    server,
    String(executions),
    formatFigure(rows / executions),
    latencies(served, 0.5),
    latencies(served, 0.99),
    workload.name === 'priority' ? latencies(urgent, 0.99) : '',
    refused.length === 0
      ? ''
      : `${refused.length}, after ${latencies(refused, 0.5)} to ${latencies(refused, 1)} ms (${texts})`,
  ];
  return `| ${cells.join(' | ')} |`;
}

async function compare(tritonPort: string, names: readonly string[]): Promise<void> {
  const workloads = WORKLOADS.filter(({ name }) => names.length === 0 || names.includes(name));
  const { cpu, cores, node } = describeMachine();
  console.log(`${cpu}, ${cores} cores, Node ${node}; load average before: ${loadAverage().join(' ')}\n`);
  console.log('| | server | batches | rows a batch | p50 ms | p99 ms | urgent p99 ms | refused |');
  console.log('|---|---|---:|---:|---:|---:|---:|---|');
  const ours = await startOurs();
  try {
    for (const workload of workloads) {
      const servers = [
        ['Triton', tritonPort],
        ['TSTriton', ours.port],
      ] as const;
      for (const [server, port] of servers) {
        console.log(rowOf(workload, server, await play(`grpc://127.0.0.1:${port}`, workload)));
      }
    }
  } finally {
    await ours.stop();
  }
  console.log(`\nload average after: ${loadAverage().join(' ')}`);
}

const [command, argument, ...names] = process.argv.slice(2);
if (command === 'repository' && argument !== undefined) await writeRepository(argument);
else if (command === 'serve') await serve();
else if (command === 'compare' && argument !== undefined) await compare(argument, names);
else {
  console.error('usage: compare-batching.js repository FOLDER | compare PORT [names]');
  process.exitCode = 1;
}
