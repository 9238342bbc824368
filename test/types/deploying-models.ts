// The code examples of PyTriton's page "Deploying Models" that are not on its page on binding, in TypeScript.
import {
  batch,
  TimeoutAction,
  Triton,
  type DynamicBatcher,
  type ModelConfig,
  type QueuePolicy,
  type TritonConfig,
} from 'tstriton';

import type { Equal, Expect } from './expect-type.js';

/** `with Triton() as triton`. */
export async function scoped(): Promise<void> {
  await using triton = new Triton();
  expectReady(triton.isReady);
}
declare function expectReady(ready: boolean): void;

/** A plain object, configured. */
export const tritonConfig: TritonConfig = { logFile: '/var/log/triton.log', logVerbose: 4 };
export const configured = new Triton(tritonConfig);

/** Blocking mode. */
export async function blocking(): Promise<void> {
  await using triton = new Triton();
  await triton.serve();
}

/** Background mode. */
export async function background(): Promise<void> {
  const triton = new Triton();
  await triton.run();
  const port: number | undefined = triton.httpPort;
  if (port === undefined) throw new Error('HTTP is off');
  await triton.ready();
  await triton.ready('MyModel');
  await triton.stop();
}

/** The defaults of ModelConfig and DynamicBatcher, written out. */
export const modelConfig: ModelConfig = { batching: true, maxBatchSize: 4, batcher: {} };
export const withoutBatcher: ModelConfig = { batcher: null };
export const batcher: Required<Omit<DynamicBatcher, 'defaultQueuePolicy'>> = {
  maxQueueDelayMicroseconds: 0,
  preferredBatchSize: [4],
  preserveOrdering: false,
  groupByShape: true,
  priorityLevels: 2,
  defaultPriorityLevel: 1,
  priorityQueuePolicy: { 2: { maxQueueSize: 10 } },
};
export const policy: Required<QueuePolicy> = {
  timeoutAction: TimeoutAction.REJECT,
  defaultTimeoutMicroseconds: 0,
  allowTimeoutOverride: false,
  maxQueueSize: 0,
};
export type TimeoutActions = Expect<Equal<TimeoutAction, 'REJECT' | 'DELAY'>>;

/** The record form of what `_add_sub` of the page on the response cache returns. */
export async function addSub(): Promise<void> {
  await using triton = new Triton();
  triton.bind({
    modelName: 'AddSub',
    inferFunc: batch(({ INPUT_1: a, INPUT_2: b }) => ({
      add: a.map((value, i) => value + b.data[i]!),
      sub: a.map((value, i) => value - b.data[i]!),
    })),
    inputs: [
      { shape: [1], dtype: Float32Array },
      { shape: [1], dtype: Float32Array },
    ],
    outputs: [
      { name: 'add', shape: [1], dtype: Float32Array },
      { name: 'sub', shape: [1], dtype: Float32Array },
    ],
    config: { maxBatchSize: 8 },
  });
}

export const cached: ModelConfig = { responseCache: true };
export const cache: TritonConfig = { responseCacheByteSize: 1024 * 1024 };
// @ts-expect-error A misspelt option.
export const misspelt: TritonConfig = { httpPrt: 8000 };
// @ts-expect-error A misspelt option of the batcher.
export const misspeltBatcher: DynamicBatcher = { maxQueueDelayMs: 1 };
// @ts-expect-error An action that does not exist.
export const wrongPolicy: QueuePolicy = { timeoutAction: 'DROP' };
