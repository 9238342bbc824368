// A server of its own, asked over both protocols: whether serving works here at all.

import { devNull } from 'node:os';
import { performance } from 'node:perf_hooks';

import { batch } from '../../callables/batch.js';
import { stream } from '../../callables/stream.js';
import { ModelClient } from '../../client/model-client.js';
import { ServerClient } from '../../client/server/server-client.js';
import { defineModel } from '../../model/callable.js';
import { Tensor } from '../../tensor/tensor.js';
import { Triton } from '../../triton.js';
import { findingOf, type Finding } from './finding.js';

const LOOPBACK = '127.0.0.1';
const TIMEOUT_MS = 20_000;

const addSub = defineModel({
  modelName: 'AddSub',
  inputs: { a: { dtype: 'float32', shape: [-1] }, b: { dtype: 'float32', shape: [-1] } },
  outputs: { add: { dtype: 'float32', shape: [-1] }, sub: { dtype: 'float32', shape: [-1] } },
  strict: true,
});

const count = defineModel({
  modelName: 'Count',
  inputs: { n: { dtype: 'int32', shape: [1] } },
  outputs: { i: { dtype: 'int32', shape: [1] } },
  config: { decoupled: true, batching: false },
  strict: true,
});

/** Asks a server with options of its own. */
export async function selfTest(): Promise<readonly Finding[]> {
  let triton: Triton | undefined;
  const started = await findingOf('start', () =>
    timed(async () => {
      triton = newServer();
      await triton.run();
    }, 'a server with two models'),
  );
  if (triton === undefined || started.status === 'failed') return [started];
  return askAll(triton, started).finally(() => triton?.stop());
}

function newServer(): Triton {
  const triton = withoutVariables(
    () =>
      new Triton({
        httpAddress: LOOPBACK,
        grpcAddress: LOOPBACK,
        metricsAddress: LOOPBACK,
        httpPort: 0,
        grpcPort: 0,
        metricsPort: 0,
        logFile: devNull,
      }),
  );
  bind(triton);
  return triton;
}

/** The variables of this process are meant for another server. */
function withoutVariables<T>(run: () => T): T {
  const kept = Object.entries(process.env).filter(([name]) =>
    /^(PYTRITON_TRITON_CONFIG_|TSTRITON_CONFIG_|AIP_)/.test(name),
  );
  for (const [name] of kept) delete process.env[name];
  try {
    return run();
  } finally {
    Object.assign(process.env, Object.fromEntries(kept));
  }
}

async function askAll(triton: Triton, started: Finding): Promise<readonly Finding[]> {
  const http = `http://${LOOPBACK}:${triton.httpPort}`;
  const grpc = `grpc://${LOOPBACK}:${triton.grpcPort}`;
  return [
    started,
    await findingOf('HTTP, JSON', () => askAddSub(http, false)),
    await findingOf('HTTP, binary', () => askAddSub(http, true)),
    await findingOf('gRPC', () => askAddSub(grpc, true)),
    await findingOf('HTTP stream', () => askCount(http)),
    await findingOf('gRPC stream', () => askCount(grpc)),
    await findingOf('health', () => askHealth([http, grpc])),
    await findingOf('metrics', () => askMetrics(`http://${LOOPBACK}:${triton.metricsPort}/metrics`)),
  ];
}

function bind(triton: Triton): void {
  triton.bind({
    ...addSub,
    inferFunc: batch(({ a, b }) => ({
      add: new Tensor('float32', a.data.map((value, i) => value + b.data[i]!), a.shape), // prettier-ignore
      sub: new Tensor('float32', a.data.map((value, i) => value - b.data[i]!), a.shape), // prettier-ignore
    })),
  });
  triton.bind({
    ...count,
    inferFunc: stream(function* ({ n }) {
      for (let i = 0; i < n.data[0]!; i++) yield { i: [i] };
    }),
  });
}

async function askAddSub(url: string, binaryData: boolean): Promise<string> {
  const options = { timeoutMs: TIMEOUT_MS, ...(url.startsWith('http') && { binaryData }) };
  const client = new ModelClient(url, addSub, options);
  const [a, b] = [Float32Array.of(1, 2.5, -3), Float32Array.of(10, 20, 30)];
  try {
    return await timed(async () => {
      const { add, sub } = await client.inferSample({ a, b });
      expectValues(add.data, [11, 22.5, 27]);
      expectValues(sub.data, [-9, -17.5, -33]);
    }, 'two vectors were added and subtracted');
  } finally {
    await client.close();
  }
}

async function askCount(url: string): Promise<string> {
  const client = new ModelClient(url, count, { timeoutMs: TIMEOUT_MS });
  try {
    return await timed(async () => {
      const seen: number[] = [];
      for await (const { i } of client.streamSample({ n: [3] })) seen.push(i.data[0]!);
      expectValues(seen, [0, 1, 2]);
    }, 'three answers came');
  } finally {
    await client.close();
  }
}

async function askHealth(urls: readonly string[]): Promise<string> {
  return timed(async () => {
    for (const url of urls) {
      const server = new ServerClient(url, { timeoutMs: TIMEOUT_MS });
      try {
        if (!(await server.isLive())) throw new Error(`${url} is not live`);
        if (!(await server.isReady())) throw new Error(`${url} is not ready`);
      } finally {
        await server.close();
      }
    }
  }, 'live and ready over both protocols');
}

async function askMetrics(url: string): Promise<string> {
  return timed(async () => {
    const text = await (await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) })).text();
    if (!text.includes('nv_inference_count{model="AddSub"')) throw new Error('the metrics do not count the model');
  }, 'the requests were counted');
}

function expectValues(got: ArrayLike<number>, expected: readonly number[]): void {
  const values = Array.from(got);
  if (values.length === expected.length && values.every((value, index) => value === expected[index])) return;
  throw new Error(`got ${values.join(', ')}, expected ${expected.join(', ')}`);
}

async function timed(run: () => Promise<void>, what: string): Promise<string> {
  const started = performance.now();
  await run();
  return `${what} in ${(performance.now() - started).toFixed(1)} ms`;
}
