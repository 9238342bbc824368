// The models of a random life: one of each kind, all computing the same.
import { defineModel, instanceGroup, stream, type CallableOf, type InferenceRequest, type Triton } from 'tstriton';
import { Tensor, TritonError } from 'tstriton';

import {
  answerOf,
  asyncCallable,
  failureOf,
  MAX_ROWS,
  syncCallable,
  WHAT,
  type LifeMemory,
} from '../../fixtures/random-life-instance.js';
import type { Entry, Ledger, Standing, What } from './ledger.js';

const MODULE = new URL('../../fixtures/random-life-instance.js', import.meta.url);
const ROWS = { dtype: 'int32', shape: [3] } as const;
const TENSORS = { inputs: { x: ROWS }, outputs: { y: ROWS } } as const;
const CONFIG = { maxBatchSize: MAX_ROWS };

export const words = defineModel({ modelName: 'Words', ...TENSORS, config: { batching: false, decoupled: true } });

function model(modelName: string, config: object = {}) {
  return defineModel({ modelName, ...TENSORS, config: { ...CONFIG, ...config } });
}

const specs = {
  Sync: model('Sync'),
  Async: model('Async'),
  Two: model('Two'),
  Threads: model('Threads', {
    batcher: { defaultQueuePolicy: { defaultTimeoutMicroseconds: 600_000_000, allowTimeoutOverride: true } },
  }),
  Ordered: model('Ordered', { batcher: { preserveOrdering: true } }),
  Delayed: model('Delayed', { batcher: { maxQueueDelayMicroseconds: 2000, preferredBatchSize: [4] } }),
  Cached: model('Cached', { responseCache: true }),
  Levels: model('Levels', {
    batcher: {
      priorityLevels: 3,
      defaultPriorityLevel: 2,
      defaultQueuePolicy: { maxQueueSize: 12, defaultTimeoutMicroseconds: 20_000, allowTimeoutOverride: true },
      priorityQueuePolicy: {
        3: { timeoutAction: 'DELAY', defaultTimeoutMicroseconds: 2000, allowTimeoutOverride: true },
      },
    },
  }),
  Impatient: model('Impatient', { executionTimeoutMicroseconds: 15_000 }),
  Pipeline: model('Pipeline', { concurrency: 4 }),
};

export const names = [...(Object.keys(specs) as (keyof typeof specs)[]), 'Words'] as const;
export type ModelName = (typeof names)[number];

export function specOf(name: Exclude<ModelName, 'Words'>) {
  return specs[name];
}

/** What a model may be asked to do. */
export function deedsOf(name: ModelName): Readonly<Partial<Record<What, number>>> {
  const deeds = { answer: 60, throw: 1, fail: 4, reject: 4, late: 10 };
  if (name === 'Words') return { answer: 60, fail: 5, late: 10 };
  if (name === 'Pipeline') return { answer: 60, fail: 5 };
  if (name === 'Sync' || name === 'Cached') return deeds;
  return { ...deeds, untilGone: 3, ...(name === 'Threads' ? { exit: 1 } : {}) };
}

/** How many responses Words has for a request. */
export function wordsOf(number: number): number {
  return number % 5;
}

function speak(memory: LifeMemory) {
  return stream<(typeof TENSORS)['inputs'], (typeof TENSORS)['outputs']>(async function* ({ x }) {
    const [number, , what] = x.data as unknown as [number, number, number];
    if (memory.begin(number) > 1) throw memory.violated(`request ${number} ran twice`);
    for (let i = 0; i < wordsOf(number); i++) {
      if (what === WHAT.late) await new Promise((resolve) => setTimeout(resolve, 1));
      yield { y: new Tensor('int32', Int32Array.from(answerOf(number, i)), [3]) };
    }
    if (what === WHAT.fail) throw failureOf(number);
  });
}

/** Calls another model for each request; those calls are requests in the ledger too. */
function pipeline(ledger: Ledger, standings: ReadonlyMap<ModelName, Standing>): CallableOf<typeof specs.Pipeline> {
  const TARGETS = ['Async', 'Threads', 'Ordered', 'Sync'] as const;
  return (requests, context) => {
    const called = async ({ inputs: { x }, signal }: InferenceRequest<(typeof TENSORS)['inputs']>) => {
      const [number, , what] = x.data as unknown as [number, number, number];
      if (ledger.memory.begin(number) > 1) throw ledger.memory.violated(`request ${number} ran twice`);
      if (what === WHAT.fail) throw failureOf(number);
      const target = TARGETS[number % TARGETS.length]!;
      const rows = x.shape[0]!;
      const inner = ledger.open(standings.get(target)!, { rows, how: `called by ${number}` });
      const onAbort = () => ledger.aborted(inner);
      if (signal.aborted) onAbort();
      signal.addEventListener('abort', onAbort);
      try {
        const { y } = await context.modelOf(specs[target]).infer({ x: rowsOf(inner) }, { signal });
        ledger.answered(inner, y!.data);
      } catch (error) {
        const { code, message } = TritonError.from(error);
        ledger.failed(inner, code === 'CANCELLED' ? `CANCELLED ${message}` : message);
        throw new TritonError('INVALID_ARG', `inner of ${number} failed`);
      } finally {
        signal.removeEventListener('abort', onAbort);
      }
      const values = Array.from({ length: rows }, (_, row) => answerOf(number, row)).flat();
      return { y: new Tensor('int32', Int32Array.from(values), [rows, 3]) };
    };
    return requests.map(called);
  };
}

/** The input of a request. */
export function rowsOf({ number, rows, what }: Entry): Tensor<'int32'> {
  const data = Int32Array.from(Array.from({ length: rows }, (_, row) => [number, row, WHAT[what]]).flat());
  return new Tensor('int32', data, [rows, 3]);
}

/** What `bind` and `rebind` take for a model, each time with callables of its own. */
function boundModel(name: Exclude<ModelName, 'Words'>, ledger: Ledger, standings: ReadonlyMap<ModelName, Standing>) {
  const { memory } = ledger;
  const threads = (count: number) =>
    instanceGroup(MODULE, { args: Array.from({ length: count }, () => memory.buffer) });
  switch (name) {
    case 'Sync':
      return { ...specs.Sync, inferFunc: syncCallable(memory) };
    case 'Two':
      return { ...specs.Two, inferFunc: [asyncCallable(memory), asyncCallable(memory)] };
    case 'Threads':
      return { ...specs.Threads, inferFunc: threads(2) };
    case 'Ordered':
      return { ...specs.Ordered, inferFunc: [threads(1), asyncCallable(memory)] };
    case 'Cached':
      return { ...specs.Cached, inferFunc: asyncCallable(memory, 'shared') };
    case 'Pipeline':
      return { ...specs.Pipeline, inferFunc: pipeline(ledger, standings) };
    default:
      return { ...specs[name], inferFunc: asyncCallable(memory) };
  }
}

export function bindModel(
  triton: Triton,
  name: ModelName,
  ledger: Ledger,
  standings: ReadonlyMap<ModelName, Standing>,
): void {
  if (name === 'Words') triton.bind({ ...words, inferFunc: speak(ledger.memory) });
  else triton.bind(boundModel(name, ledger, standings));
}

export function rebindModel(
  triton: Triton,
  name: ModelName,
  ledger: Ledger,
  standings: ReadonlyMap<ModelName, Standing>,
): Promise<void> {
  if (name === 'Words') return triton.rebind({ ...words, inferFunc: speak(ledger.memory) });
  return triton.rebind(boundModel(name, ledger, standings));
}
