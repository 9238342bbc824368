// What both servers are asked in the comparison of their batching: models that differ only in their batcher, each with
// arrivals that are the same in every run. A batch takes 5 ms and 1 ms for each row, of at most 8.

import type { ModelConfig } from 'tstriton';

export const MAX_ROWS = 8;
export const BATCH_MS = 5;
export const ROW_MS = 1;

export interface BatchingArrival {
  readonly atMs: number;
  readonly rows: number;
  readonly priority: number;
}

export interface BatchingWorkload {
  readonly name: string;
  readonly about: string;
  /** For our server, and in Triton's own words. */
  readonly config: ModelConfig;
  readonly pbtxt: string;
  readonly instances: number;
  readonly arrivals: readonly BatchingArrival[];
}

const SECONDS = 3;

/** The same random numbers every time (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** So many requests per second at random moments, of one to three rows, a tenth of them urgent. */
function poisson(perSecond: number, seed: number): readonly BatchingArrival[] {
  const random = randomNumbers(seed);
  const arrivals: BatchingArrival[] = [];
  for (let atMs = 0; atMs < SECONDS * 1000; atMs -= (Math.log(1 - random()) * 1000) / perSecond) {
    arrivals.push({ atMs, rows: 1 + Math.floor(random() * 3), priority: random() < 0.1 ? 1 : 2 });
  }
  return arrivals;
}

function bursts(size: number, everyMs: number): readonly BatchingArrival[] {
  const count = Math.floor((SECONDS * 1000) / everyMs) * size;
  return Array.from({ length: count }, (_, i) => ({ atMs: Math.floor(i / size) * everyMs, rows: 1, priority: 2 }));
}

const base = { maxBatchSize: MAX_ROWS } as const;

export const WORKLOADS: readonly BatchingWorkload[] = [
  {
    name: 'none',
    about: 'no dynamic batching, 80 requests/s',
    config: { ...base, batcher: null },
    pbtxt: '',
    instances: 1,
    arrivals: poisson(80, 1),
  },
  {
    name: 'default',
    about: 'default settings, 220 requests/s',
    config: base,
    pbtxt: 'dynamic_batching { }',
    instances: 1,
    arrivals: poisson(220, 2),
  },
  {
    name: 'overload',
    about: 'default settings, 340 requests/s, more than it can take',
    config: base,
    pbtxt: 'dynamic_batching { }',
    instances: 1,
    arrivals: poisson(340, 3),
  },
  {
    name: 'bursts',
    about: 'default settings, 64 requests at once, every 300 ms',
    config: base,
    pbtxt: 'dynamic_batching { }',
    instances: 1,
    arrivals: bursts(64, 300),
  },
  {
    name: 'delay',
    about: 'a delay of 10 ms, 120 requests/s',
    config: { ...base, batcher: { maxQueueDelayMicroseconds: 10_000 } },
    pbtxt: 'dynamic_batching { max_queue_delay_microseconds: 10000 }',
    instances: 1,
    arrivals: poisson(120, 4),
  },
  {
    name: 'preferred',
    about: 'preferred sizes 4 and 8, 220 requests/s',
    config: { ...base, batcher: { preferredBatchSize: [4, 8] } },
    pbtxt: 'dynamic_batching { preferred_batch_size: [ 4, 8 ] }',
    instances: 1,
    arrivals: poisson(220, 5),
  },
  {
    name: 'instances',
    about: 'two instances, 440 requests/s',
    config: base,
    pbtxt: 'dynamic_batching { }',
    instances: 2,
    arrivals: poisson(440, 6),
  },
  {
    name: 'priority',
    about: 'two levels, a tenth urgent, 320 requests/s',
    config: { ...base, batcher: { priorityLevels: 2, defaultPriorityLevel: 2 } },
    pbtxt: 'dynamic_batching { priority_levels: 2 default_priority_level: 2 }',
    instances: 1,
    arrivals: poisson(320, 7),
  },
  {
    name: 'size',
    about: 'at most 8 may wait, 400 requests/s',
    config: { ...base, batcher: { defaultQueuePolicy: { maxQueueSize: 8 } } },
    pbtxt: 'dynamic_batching { default_queue_policy { max_queue_size: 8 } }',
    instances: 1,
    arrivals: poisson(400, 8),
  },
  {
    name: 'timeout',
    about: 'refused after 50 ms in the queue, 400 requests/s',
    config: { ...base, batcher: { defaultQueuePolicy: { defaultTimeoutMicroseconds: 50_000 } } },
    pbtxt: 'dynamic_batching { default_queue_policy { default_timeout_microseconds: 50000 } }',
    instances: 1,
    arrivals: poisson(400, 9),
  },
];

/** The model's declaration, less its callable. Answers tell the execution that they came from. */
export function specOf({ name, config }: BatchingWorkload) {
  return {
    modelName: name,
    inputs: { x: { dtype: 'float32', shape: [2] } },
    outputs: { execution: { dtype: 'int64', shape: [1] } },
    config,
  } as const;
}

/** The same for Triton's Python backend. */
export function configPbtxt({ name, pbtxt, instances }: BatchingWorkload): string {
  return `name: "${name}"
backend: "python"
max_batch_size: ${MAX_ROWS}
input [ { name: "x" data_type: TYPE_FP32 dims: [ 2 ] } ]
output [ { name: "execution" data_type: TYPE_INT64 dims: [ 1 ] } ]
instance_group [ { count: ${instances} kind: KIND_CPU } ]
${pbtxt}
`;
}
