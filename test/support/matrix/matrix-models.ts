// The models that the matrix asks: one of each kind of execution, each answering from all that its request says.
import { batch, defineModel, instanceGroup, stream, Tensor, type CallableOf, type Triton } from 'tstriton';

import { delayed, rows, streamed, whole, type MatrixMemory } from '../../fixtures/matrix-instance.js';
import type { ModelName } from './question.js';

const MODULE = new URL('../../fixtures/matrix-instance.js', import.meta.url);
const BYTES = { dtype: 'uint8', shape: [-1] } as const;
const TEXT = { dtype: 'string', shape: [1] } as const;
const INTEGERS = { dtype: 'int32', shape: [-1] } as const;
const TENSORS = { inputs: { x: BYTES, note: TEXT }, outputs: { y: BYTES, said: TEXT }, strict: true } as const;

export const specs = {
  Whole: defineModel({ modelName: 'Whole', ...TENSORS, config: { batching: false } }),
  Delayed: defineModel({ modelName: 'Delayed', ...TENSORS, config: { maxBatchSize: 8, concurrency: 3 } }),
  Threads: defineModel({ modelName: 'Threads', ...TENSORS, config: { maxBatchSize: 8 } }),
  Rows: defineModel({
    modelName: 'Rows',
    inputs: { x: INTEGERS },
    outputs: { y: INTEGERS, said: TEXT },
    strict: true,
    config: { maxBatchSize: 16, batcher: { maxQueueDelayMicroseconds: 500 } },
  }),
  Echo: defineModel({ modelName: 'Echo', ...TENSORS, config: { maxBatchSize: 4 } }),
  Cached: defineModel({ modelName: 'Cached', ...TENSORS, config: { maxBatchSize: 8, responseCache: true } }),
  Stream: defineModel({ modelName: 'Stream', ...TENSORS, config: { batching: false, decoupled: true } }),
  Calls: defineModel({ modelName: 'Calls', ...TENSORS, config: { batching: false, concurrency: 4 } }),
} as const;

export const MODEL_NAMES = Object.keys(specs) as readonly ModelName[];

/** Answers by the request's inner call of Threads. */
const calls: CallableOf<typeof specs.Calls> = async (requests, context) =>
  Promise.all(
    requests.map(async ({ id, inputs: { x, note }, parameters }) => {
      const inner = context.modelOf(specs.Threads);
      const inputs = { x: x.reshape([1, ...x.shape]), note: note.reshape([1, 1]) };
      const { y, said } = await inner.infer(inputs, { parameters });
      return {
        y: y.reshape([y.data.length]),
        said: new Tensor('string', [`${id} ${said.strings()[0]!}`], [1]),
      };
    }),
  );

/** What `bind` and `rebind` take for a model, each time with callables of its own. */
function boundModel(name: ModelName, memory: MatrixMemory) {
  return { ...specs[name], inferFunc: callableOf(name, memory) } as unknown as Parameters<Triton['bind']>[0];
}

function callableOf(name: ModelName, memory: MatrixMemory) {
  switch (name) {
    case 'Delayed':
      return [delayed(memory, name), delayed(memory, name)];
    case 'Threads':
      return instanceGroup(MODULE, { args: [memory.buffer, memory.buffer] });
    case 'Rows':
      return batch(rows(memory));
    case 'Calls':
      return calls;
    case 'Stream':
      return stream((_, { requests }) => streamed(memory, name, requests[0]));
    default:
      return whole(memory, name, name !== 'Whole');
  }
}

export function bindModel(triton: Triton, name: ModelName, memory: MatrixMemory): void {
  triton.bind(boundModel(name, memory));
}

export function rebindModel(triton: Triton, name: ModelName, memory: MatrixMemory): Promise<void> {
  return triton.rebind(boundModel(name, memory));
}
