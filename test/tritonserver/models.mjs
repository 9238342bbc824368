// The models that both engines serve, wherever their callables run. Each shows one thing.
import { setTimeout as delay } from 'node:timers/promises';

import { batch, InferenceResponse, instanceGroup, sample, stream, Tensor, TritonError } from 'tstriton';

// prettier-ignore
const DATATYPES = /** @type {const} */ ([
  'BOOL', 'INT8', 'INT16', 'INT32', 'INT64', 'UINT8', 'UINT16', 'UINT32', 'UINT64', 'FP16', 'FP32', 'FP64', 'BYTES',
]);

/** What binds models. @typedef {Pick<import('tstriton').Triton, 'bind'>} Binder */

/** @param {Binder} triton */
export function bindModels(triton) {
  bindTensors(triton);
  bindRequests(triton);
  bindFailures(triton);
  bindStreams(triton);
  bindInstances(triton);
  let warmUps = 0;
  triton.bind({
    modelName: 'Warm', // answers how many rows have warmed it up
    inferFunc: batch(({ x, text }) => {
      if (text.strings()[0] !== 'asked') warmUps += text.shape[0] ?? 0;
      const sums = x.rows().map((row) => [row.data.reduce((sum, value) => sum + value, 0)]);
      return { sum: sums, warmUps: sums.map(() => [warmUps]) };
    }),
    inputs: { x: { dtype: 'float32', shape: [3] }, text: { dtype: 'string', shape: [1] } },
    outputs: { sum: { dtype: 'float32', shape: [1] }, warmUps: { dtype: 'int32', shape: [1] } },
    config: {
      modelWarmup: [
        {
          name: 'two rows, three times',
          batchSize: 2,
          count: 3,
          inputs: {
            x: { dtype: 'float32', shape: [3], randomData: true },
            text: { dtype: 'string', shape: [1], zeroData: true },
          },
        },
      ],
    },
  });
  let executions = 0;
  triton.bind({
    modelName: 'Cached', // answers how often it has executed
    inferFunc: sample(({ x }) => ({ y: [x.data[0] ?? 0, ++executions] })),
    inputs: { x: { dtype: 'int32', shape: [1] } },
    outputs: { y: { dtype: 'int32', shape: [2] } },
    config: { responseCache: true, batching: false },
  });
  let waiting = 0;
  let aborted = 0;
  triton.bind({
    modelName: 'Waits', // for 1 until its client is gone; for 0 it answers how many wait, and how many have gone
    inferFunc: async ([request]) => {
      if (request?.inputs.x.data[0] === 1) {
        waiting++;
        await new Promise((resolve) => request.signal.addEventListener('abort', resolve));
        waiting--;
        aborted++;
      }
      return [{ y: [[waiting, aborted]] }];
    },
    inputs: { x: { dtype: 'int32', shape: [1] } },
    outputs: { y: { dtype: 'int32', shape: [2] } },
    config: { batcher: null, concurrency: 2 },
  });
}

/**
 * Binds the same models with each callable in threads of its own, as many as it has instances otherwise.
 *
 * @param {Binder} triton
 */
export function bindModelsInThreads(triton) {
  const module = new URL('thread-model.mjs', import.meta.url);
  const bind = (/** @type {any} */ declaration) => {
    const { modelName, inferFunc } = declaration;
    const count = Array.isArray(inferFunc) ? inferFunc.length : (inferFunc.count ?? 1);
    const args = Array.from({ length: count }, (_, instance) => ({ modelName, instance }));
    triton.bind({ ...declaration, inferFunc: instanceGroup(module, { args }) });
  };
  bindModels(/** @type {any} */ ({ bind }));
}

/** @param {Binder} triton */
function bindTensors(triton) {
  for (const datatype of DATATYPES) {
    triton.bind({
      modelName: `Identity${datatype}`,
      inferFunc: (requests) => requests,
      inputs: { x: { dtype: datatype, shape: [-1, 2] } },
      outputs: { y: { dtype: datatype, shape: [-1, 2] } },
      config: { maxBatchSize: 8 },
    });
  }
  triton.bind({
    modelName: 'AddSub',
    inferFunc: batch(({ a, b }) => ({
      add: a.map((value, i) => value + (b.data[i] ?? 0)),
      sub: a.map((value, i) => value - (b.data[i] ?? 0)),
    })),
    inputs: { a: { dtype: 'float32', shape: [-1] }, b: { dtype: 'float32', shape: [-1] } },
    outputs: { add: { dtype: 'float32', shape: [-1] }, sub: { dtype: 'float32', shape: [-1] } },
    config: { maxBatchSize: 16, batcher: { maxQueueDelayMicroseconds: 1000, preferredBatchSize: [4, 8] } },
  });
  triton.bind({
    modelName: 'Unbatched',
    inferFunc: sample(({ x }) => ({ y: x })),
    inputs: { x: { dtype: 'uint8', shape: [-1, -1] } },
    outputs: { y: { dtype: 'uint8', shape: [-1, -1] } },
    config: { batching: false },
  });
  triton.bind({
    modelName: 'Scores',
    inferFunc: (requests) => requests,
    inputs: { x: { dtype: 'float32', shape: [4] } },
    outputs: { scores: { dtype: 'float32', shape: [4], labels: ['ant', 'bee', 'cat', 'dog'] } },
  });
}

/** @param {Binder} triton */
function bindRequests(triton) {
  triton.bind({
    modelName: 'Scale', // the factor is optional
    inferFunc: (requests) =>
      requests.map(({ inputs: { x, factor } }) => ({ y: x.map((value) => value * (factor?.data[0] ?? 2)) })),
    inputs: { factor: { dtype: 'float32', shape: [1], optional: true }, x: { dtype: 'float32', shape: [-1] } },
    outputs: { y: { dtype: 'float32', shape: [-1] } },
  });
  triton.bind({
    modelName: 'Tells', // what its request says beside its tensors
    inferFunc: (requests) =>
      requests.map(({ id, parameters, requestedOutputs, sequence, inputs, timeoutMicroseconds }) => {
        const rows = inputs.x.shape[0] ?? 0;
        const told = { id, parameters, requestedOutputs, sequence, rows, timeoutMicroseconds };
        const text = JSON.stringify(told, (_, value) => (typeof value === 'bigint' ? `${value}n` : value));
        return { text: Array.from({ length: rows }, () => [text]), other: Array.from({ length: rows }, () => [7]) };
      }),
    inputs: { x: { dtype: 'int32', shape: [1] } },
    outputs: { text: { dtype: 'string', shape: [1] }, other: { dtype: 'int32', shape: [1] } },
  });
  triton.bind({
    modelName: 'Answers', // with parameters
    inferFunc: (requests) =>
      requests.map(({ inputs: { x } }) => new InferenceResponse({ y: x }, { parameters: { seen: true, count: 3 } })),
    inputs: { x: { dtype: 'int32', shape: [1] } },
    outputs: { y: { dtype: 'int32', shape: [1] } },
  });
}

/** @param {Binder} triton */
function bindFailures(triton) {
  triton.bind({
    modelName: 'Fails', // as it is told
    inferFunc: (requests, { failRow }) =>
      requests.map((request, index) => {
        const how = request.inputs.how.strings()[0];
        if (how === 'throw') throw new Error('the callable failed');
        if (how === 'row') failRow(index, new TritonError('NOT_FOUND', 'this row is not there'));
        if (how === 'shape') return { y: new Tensor('string', ['a', 'b'], [1, 2]) };
        if (how === 'nothing') return /** @type {never} */ ({});
        if (how?.startsWith('code ')) throw new TritonError(/** @type {never} */ (how.slice(5)), `it is ${how}`);
        return { y: request.inputs.how };
      }),
    inputs: { how: { dtype: 'string', shape: [1] } },
    outputs: { y: { dtype: 'string', shape: [1] } },
    config: { batcher: null },
  });
  triton.bind({
    modelName: 'FailsOne', // of those that it has together
    inferFunc: async (requests) => {
      await delay(30);
      return requests.map(({ inputs: { x } }) =>
        (x.data[0] ?? 0) < 0 ? new TritonError('INVALID_ARG', `no negative numbers: ${x.data[0]}`) : { y: x },
      );
    },
    inputs: { x: { dtype: 'int32', shape: [1] } },
    outputs: { y: { dtype: 'int32', shape: [1] } },
    config: { maxBatchSize: 8 },
  });
}

/** @param {Binder} triton */
function bindStreams(triton) {
  triton.bind({
    modelName: 'Count', // down to 1; fails at 13 when it began at 16
    inferFunc: stream(async function* ({ n }) {
      const first = n.data[0] ?? 0;
      for (let i = first; i > 0; i--) {
        if (i === 13 && first === 16) throw new TritonError('UNAVAILABLE', 'no 13');
        if (i % 5 === 0) await delay(1);
        yield { i: [i], text: [`${i}`.repeat(i % 4)] };
      }
    }),
    inputs: { n: { dtype: 'int32', shape: [1] } },
    outputs: { i: { dtype: 'int32', shape: [1] }, text: { dtype: 'string', shape: [1] } },
    config: { decoupled: true, concurrency: 4 },
  });
}

/** @param {Binder} triton */
function bindInstances(triton) {
  triton.bind({
    modelName: 'Three', // instances in this thread
    inferFunc: [1, 2, 3].map(() => async (/** @type {any} */ requests) => {
      await delay(5);
      return requests;
    }),
    inputs: { x: { dtype: 'int32', shape: [1] } },
    outputs: { y: { dtype: 'int32', shape: [1] } },
    config: { batcher: null, concurrency: 2 },
  });
  triton.bind({
    modelName: 'Threads', // which answer whether they are no main thread
    inferFunc: instanceGroup(new URL('thread-model.mjs', import.meta.url), {
      args: [{ modelName: 'Threads' }, { modelName: 'Threads' }],
    }),
    inputs: { x: { dtype: 'int32', shape: [1] } },
    outputs: { y: { dtype: 'int32', shape: [2] } },
  });
}
