// What both servers are asked in the comparison of their batching: models that differ only in their batcher
// and cache, each with arrivals that are the same in every run. A batch takes 5 ms and 1 ms for each row, of at most 8.

import type { ModelConfig } from 'tstriton';

import { bursts, exceptionalArrivals, randomArrivals, repeatedQuestions } from './arrivals.js';
import type { BatchingArrival } from './arrivals.js';

export const MAX_ROWS = 8;
export const BATCH_MS = 5;
export const ROW_MS = 1;

export interface BatchingWorkload {
  readonly name: string;
  readonly about: string;
  /** For our server, and in Triton's own words. */
  readonly config: ModelConfig;
  readonly pbtxt: string;
  readonly instances: number;
  readonly arrivals: readonly BatchingArrival[];
}

const base = { maxBatchSize: MAX_ROWS } as const;

export const WORKLOADS: readonly BatchingWorkload[] = [
  {
    name: 'none',
    about: 'no dynamic batching, 80 requests/s',
    config: { ...base, batcher: null },
    pbtxt: '',
    instances: 1,
    arrivals: randomArrivals(80, 1),
  },
  {
    name: 'default',
    about: 'default settings, 220 requests/s',
    config: base,
    pbtxt: 'dynamic_batching { }',
    instances: 1,
    arrivals: randomArrivals(220, 2),
  },
  {
    name: 'overload',
    about: 'default settings, 340 requests/s, more than it can take',
    config: base,
    pbtxt: 'dynamic_batching { }',
    instances: 1,
    arrivals: randomArrivals(340, 3),
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
    arrivals: randomArrivals(120, 4),
  },
  {
    name: 'preferred',
    about: 'preferred sizes 4 and 8, 220 requests/s',
    config: { ...base, batcher: { preferredBatchSize: [4, 8] } },
    pbtxt: 'dynamic_batching { preferred_batch_size: [ 4, 8 ] }',
    instances: 1,
    arrivals: randomArrivals(220, 5),
  },
  {
    name: 'instances',
    about: 'two instances, 440 requests/s',
    config: base,
    pbtxt: 'dynamic_batching { }',
    instances: 2,
    arrivals: randomArrivals(440, 6),
  },
  {
    name: 'ordering',
    about: 'two instances, answers in order, 440 requests/s',
    config: { ...base, batcher: { preserveOrdering: true } },
    pbtxt: 'dynamic_batching { preserve_ordering: true }',
    instances: 2,
    arrivals: randomArrivals(440, 6),
  },
  {
    name: 'priority',
    about: 'two levels, a tenth urgent, 320 requests/s',
    config: { ...base, batcher: { priorityLevels: 2, defaultPriorityLevel: 2 } },
    pbtxt: 'dynamic_batching { priority_levels: 2 default_priority_level: 2 }',
    instances: 1,
    arrivals: randomArrivals(320, 7),
  },
  {
    name: 'size',
    about: 'at most 8 may wait, 400 requests/s',
    config: { ...base, batcher: { defaultQueuePolicy: { maxQueueSize: 8 } } },
    pbtxt: 'dynamic_batching { default_queue_policy { max_queue_size: 8 } }',
    instances: 1,
    arrivals: randomArrivals(400, 8),
  },
  {
    name: 'timeout',
    about: 'refused after 50 ms in the queue, 400 requests/s',
    config: { ...base, batcher: { defaultQueuePolicy: { defaultTimeoutMicroseconds: 50_000 } } },
    pbtxt: 'dynamic_batching { default_queue_policy { default_timeout_microseconds: 50000 } }',
    instances: 1,
    arrivals: randomArrivals(400, 9),
  },
  {
    name: 'cache',
    about: 'response cache, 300 requests/s with 500 questions',
    config: { ...base, responseCache: true },
    pbtxt: 'dynamic_batching { }\nresponse_cache { enable: true }',
    instances: 1,
    arrivals: repeatedQuestions(300, 10, 500),
  },
  {
    name: 'together',
    about: 'response cache, each question four times at once, every 25 ms',
    config: { ...base, responseCache: true },
    pbtxt: 'dynamic_batching { }\nresponse_cache { enable: true }',
    instances: 1,
    arrivals: bursts(4, 25).map((arrival) => ({ ...arrival, question: 1 + arrival.atMs })),
  },
  {
    name: 'errors',
    about: 'the model refuses a tenth, 220 requests/s',
    config: base,
    pbtxt: 'dynamic_batching { }',
    instances: 1,
    arrivals: exceptionalArrivals(220, 11, { fails: true }),
  },
  {
    name: 'cancelled',
    about: 'a tenth of the clients cancels after 15 ms, 220 requests/s',
    config: base,
    pbtxt: 'dynamic_batching { }',
    instances: 1,
    arrivals: exceptionalArrivals(220, 12, { cancelAfterMs: 15 }),
  },
];

/**
 * The model's declaration, less its callable. A row of `x` is a question and the run that it belongs to, negative where
 * the model shall refuse. Answers, and refusals in their message, tell the execution that they came from.
 */
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
