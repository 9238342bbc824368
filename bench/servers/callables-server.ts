// The callables suite's server: a decoupled model, one that spins, and callables in instance threads.
// Usage: callables-server.js <true|false> <stream|ready|threads|tensor|copies> <steps>: the value of `serverThread`, the row of the
// suite whose models to serve, and the work of one request.
// A load order has it measure structuredClone, which is what a copy on the way to a thread would cost at least, or for
// `copies` tell the bytes that were posted from thread to thread so far: there [copied, transferred], and back.

import { chatModel, instanceGroup, messageText, stream, Triton } from 'tstriton';
import type { InstanceGroup } from 'tstriton';

import * as workload from '../callables-workload.js';
import { serveControl } from '../control-channel.js';
import { countPostedBytes } from '../untransferred-bytes.js';
import type { InstanceTask } from './callables-instance.js';

export interface CloneReport {
  readonly milliseconds: readonly number[];
  /** Milliseconds of CPU each. */
  readonly cpu: number;
}

const [flag, row, stepsText] = process.argv.slice(2);
if (flag !== 'true' && flag !== 'false') throw new Error(`expected 'true' or 'false' for serverThread, got '${flag}'`);
const steps = Number(stepsText);
if (!(steps > 0)) throw new Error(`expected a number of steps, got '${stepsText}'`);

const inThreads = (count: number, task: InstanceTask): InstanceGroup =>
  instanceGroup(new URL('./callables-instance.js', import.meta.url), { args: new Array(count).fill(task) });

const serverThread = flag === 'true';
const triton = new Triton({ httpPort: 0, grpcPort: 0, metricsPort: 0, serverThread, logInfo: false });
const values = {
  inputs: { x: { dtype: 'int32', shape: [1] } },
  outputs: { y: { dtype: 'int32', shape: [1] } },
} as const;
const images = {
  inputs: { x: { dtype: 'float32', shape: [workload.TENSOR_ROW_LENGTH] } },
  outputs: { y: { dtype: 'float32', shape: [workload.TENSOR_ROW_LENGTH] } },
  config: { maxBatchSize: workload.TENSOR_ROWS },
} as const;

const there = new Int32Array(new SharedArrayBuffer(8));
const back = new Int32Array(new SharedArrayBuffer(8));

switch (row) {
  case 'stream':
    triton.bind({
      modelName: workload.STREAM_MODEL,
      ...values,
      config: { decoupled: true, maxBatchSize: 1 },
      inferFunc: stream(async function* ({ x }) {
        const count = x.data[0]!;
        for (let i = 0; i < count; i++) yield { y: [[i]] };
      }),
    });
    triton.bind(
      chatModel({
        modelName: workload.CHAT_MODEL,
        async *chat({ messages }) {
          const count = Number(messageText(messages[0]!));
          for (let i = 0; i < count; i++) yield String(i);
        },
      }),
    );
    break;
  case 'ready': {
    // Where the server has no thread of its own, a callable that must not hold it up has one.
    const spin = { modelName: workload.SPIN_MODEL, ...values, config: { maxBatchSize: 1 } };
    if (serverThread) {
      triton.bind({
        ...spin,
        inferFunc: (requests) => {
          for (const { inputs } of requests) workload.spin(inputs.x.data[0]!);
          return requests;
        },
      });
    } else {
      triton.bind({ ...spin, inferFunc: inThreads(1, { kind: 'spin' }) });
    }
    break;
  }
  case 'threads':
    for (const [i, modelName] of workload.WORK_MODELS.entries()) {
      const inferFunc = inThreads(i + 1, { kind: 'work', steps });
      triton.bind({ modelName, ...values, config: { maxBatchSize: 1 }, inferFunc });
    }
    break;
  case 'tensor':
    triton.bind({ modelName: workload.ECHO_MODEL, ...images, inferFunc: inThreads(1, { kind: 'echo' }) });
    triton.bind({ modelName: workload.ECHO_HERE_MODEL, ...images, inferFunc: (requests) => requests });
    break;
  case 'copies':
    countPostedBytes(there);
    triton.bind({ modelName: workload.ECHO_MODEL, ...images, inferFunc: inThreads(1, { kind: 'echo', counts: back }) });
    break;
  default:
    throw new Error(`expected stream, ready, threads, tensor or copies, got '${row}'`);
}
await triton.run();

function measureClones(count: number): CloneReport {
  const values = new Float32Array(workload.TENSOR_BYTES / 4).fill(0.25);
  const cpu = process.cpuUsage();
  const milliseconds = Array.from({ length: count }, () => {
    const begin = performance.now();
    const { length } = structuredClone(values);
    const spent = performance.now() - begin;
    if (length !== values.length) throw new Error(`a clone of ${length} values, expected ${values.length}`);
    return spent;
  });
  const { user, system } = process.cpuUsage(cpu);
  return { milliseconds, cpu: (user + system) / 1000 / count };
}

serveControl({
  ports: { httpPort: triton.httpPort!, grpcPort: triton.grpcPort! },
  load: (count) => Promise.resolve(row === 'copies' ? [...there, ...back] : measureClones(count as number)),
  stop: () => triton.stop(),
});
