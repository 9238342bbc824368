// The models that the real clients ask. Each shows one thing: a datatype, a kind of answer, a kind of failure.
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

import { batch, InferenceResponse, sample, stream, Tensor, TritonError } from 'tstriton';

// prettier-ignore
const DATATYPES = /** @type {const} */ ([
  'BOOL', 'INT8', 'INT16', 'INT32', 'INT64', 'UINT8', 'UINT16', 'UINT32', 'UINT64', 'FP16', 'BF16', 'FP32', 'FP64', 'BYTES',
]);

/** @param {import('tstriton').Triton} triton */
export function bindModels(triton) {
  for (const datatype of DATATYPES) bindIdentity(triton, datatype);
  bindAddSub(triton);
  bindShapes(triton);
  bindStrings(triton);
  bindScores(triton);
  bindParameters(triton);
  bindKeyed(triton);
  bindFailures(triton);
  bindDecoupled(triton);
  bindSequences(triton);
}

/**
 * @param {import('tstriton').Triton} triton
 * @param {(typeof DATATYPES)[number]} datatype
 */
function bindIdentity(triton, datatype) {
  triton.bind({
    modelName: `Identity${datatype}`,
    inferFunc: (requests) => requests,
    inputs: { x: { dtype: datatype, shape: [-1] } },
    outputs: { y: { dtype: datatype, shape: [-1] } },
    config: { maxBatchSize: 8 },
  });
}

/** @param {import('tstriton').Triton} triton */
export function bindAddSub(triton, modelVersion = 1, modelName = 'AddSub') {
  triton.bind({
    modelName,
    modelVersion,
    inferFunc: batch(({ a, b }) => ({
      add: new Tensor(
        'float32',
        a.data.map((value, i) => value + (b.data[i] ?? 0)),
        a.shape,
      ),
      sub: new Tensor(
        'float32',
        a.data.map((value, i) => value - (b.data[i] ?? 0)),
        a.shape,
      ),
    })),
    inputs: { a: { dtype: 'float32', shape: [-1] }, b: { dtype: 'float32', shape: [-1] } },
    outputs: { add: { dtype: 'float32', shape: [-1] }, sub: { dtype: 'float32', shape: [-1] } },
    config: { maxBatchSize: 16 },
    strict: true,
  });
}

/** @param {import('tstriton').Triton} triton */
function bindShapes(triton) {
  triton.bind({
    modelName: 'Unbatched',
    inferFunc: sample(({ x }) => ({ y: x })),
    inputs: { x: { dtype: 'float32', shape: [-1, -1] } },
    outputs: { y: { dtype: 'float32', shape: [-1, -1] } },
    config: { batching: false },
  });
  triton.bind({
    modelName: 'Scale', // the factor is optional
    inferFunc: (requests) =>
      requests.map(({ inputs: { x, factor } }) => ({ y: x.map((value) => value * (factor?.data[0] ?? 2)) })),
    inputs: { x: { dtype: 'float32', shape: [-1] }, factor: { dtype: 'float32', shape: [1], optional: true } },
    outputs: { y: { dtype: 'float32', shape: [-1] } },
  });
  for (const modelVersion of [1, 3]) {
    triton.bind({
      modelName: 'Versions',
      modelVersion,
      inferFunc: (requests) => requests.map(() => ({ version: [[modelVersion]] })),
      inputs: { x: { dtype: 'int32', shape: [1] } },
      outputs: { version: { dtype: 'int32', shape: [1] } },
    });
  }
}

/** @param {import('tstriton').Triton} triton */
function bindStrings(triton) {
  triton.bind({
    modelName: 'Upper',
    inferFunc: batch(({ text }) => ({ upper: text.rows().map((row) => [row.strings()[0]?.toUpperCase() ?? '']) })),
    inputs: { text: { dtype: 'string', shape: [1] } },
    outputs: { upper: { dtype: 'string', shape: [1] } },
    config: { maxBatchSize: 16 },
  });
}

/** @param {import('tstriton').Triton} triton */
function bindScores(triton) {
  triton.bind({
    modelName: 'Scores',
    inferFunc: (requests) => requests,
    inputs: { x: { dtype: 'float32', shape: [4] } },
    outputs: { scores: { dtype: 'float32', shape: [4], labels: ['ant', 'bee', 'cat', 'dog'] } },
  });
}

/** @param {import('tstriton').Triton} triton */
function bindParameters(triton) {
  triton.bind({
    modelName: 'Parameters', // answers with the parameters it got, as text and as parameters of the response
    inferFunc: (requests) =>
      requests.map(({ id, parameters }) => {
        const text = JSON.stringify(
          Object.fromEntries(Object.entries(parameters).toSorted(([a], [b]) => (a < b ? -1 : 1))),
          (_, value) => (typeof value === 'bigint' ? Number(value) : value),
        );
        return new InferenceResponse(
          { text: [[text]] },
          { parameters: { seen_id: id, count: Object.keys(parameters).length, whole: true, half: 0.5 } },
        );
      }),
    inputs: { x: { dtype: 'int32', shape: [1] } },
    outputs: { text: { dtype: 'string', shape: [1] } },
  });
}

/**
 * Answers from all that its request says: one byte of another request in it changes the whole answer.
 *
 * @param {import('tstriton').Triton} triton
 */
function bindKeyed(triton) {
  triton.bind({
    modelName: 'Keyed',
    inferFunc: (requests) =>
      requests.map(({ id, parameters, inputs: { x } }) => {
        const named = Object.entries(parameters).map(([name, value]) => `${name}=${value}`);
        const told = [id, ...named.toSorted()].join();
        const key = createHash('sha256').update(told).update(x.data).digest();
        const y = new Uint8Array(Number(parameters['size']));
        for (let i = 0; i < y.length; i++) y[i] = (key[i % 32] ?? 0) ^ ((i >> 5) & 255);
        return { y: new Tensor('uint8', y, [1, y.length]), told: [[told]] };
      }),
    inputs: { x: { dtype: 'uint8', shape: [-1] } },
    outputs: { y: { dtype: 'uint8', shape: [-1] }, told: { dtype: 'string', shape: [1] } },
    config: { maxBatchSize: 8 },
  });
}

/** @param {import('tstriton').Triton} triton */
function bindFailures(triton) {
  triton.bind({
    modelName: 'Fails',
    inferFunc: (requests) =>
      requests.map(({ inputs: { how } }) => {
        const text = how.strings()[0];
        if (text === 'throw') throw new Error('the callable failed');
        if (text === 'refuse') throw new TritonError('INVALID_ARG', 'the callable refuses');
        return { y: [[text ?? '']] };
      }),
    inputs: { how: { dtype: 'string', shape: [1] } },
    outputs: { y: { dtype: 'string', shape: [1] } },
    config: { batcher: null },
  });
  bindSlow(triton, 'Slow', { concurrency: 8, batcher: null });
  bindSlow(triton, 'Queue', {
    maxBatchSize: 1,
    batcher: {
      defaultQueuePolicy: { maxQueueSize: 2, defaultTimeoutMicroseconds: 10_000_000, allowTimeoutOverride: true },
    },
  });
}

/**
 * Answers after as many milliseconds as the request says.
 *
 * @param {import('tstriton').Triton} triton
 * @param {string} modelName
 * @param {import('tstriton').ModelConfig} config
 */
function bindSlow(triton, modelName, config) {
  triton.bind({
    modelName,
    inferFunc: async (requests, { signal }) => {
      await delay(Math.max(...requests.map(({ inputs }) => inputs.milliseconds.data[0] ?? 0)), undefined, { signal });
      return requests;
    },
    inputs: { milliseconds: { dtype: 'int32', shape: [1] } },
    outputs: { waited: { dtype: 'int32', shape: [1] } },
    config: { ...config, decoupled: false },
  });
}

/** @param {import('tstriton').Triton} triton */
function bindDecoupled(triton) {
  triton.bind({
    modelName: 'Count', // counts from 0 to n - 1, one response each
    inferFunc: stream(function* ({ n }) {
      for (let i = 0; i < (n.data[0] ?? 0); i++) yield { i: [[i]] };
    }),
    inputs: { n: { dtype: 'int32', shape: [1] } },
    outputs: { i: { dtype: 'int32', shape: [1] } },
    config: { decoupled: true },
  });
  triton.bind({
    modelName: 'CountAndFail', // as many responses, then an error
    inferFunc: stream(async function* ({ n }) {
      for (let i = 0; i < (n.data[0] ?? 0); i++) {
        await delay(1);
        yield { i: [[i]] };
      }
      throw new TritonError('UNAVAILABLE', 'counted enough');
    }),
    inputs: { n: { dtype: 'int32', shape: [1] } },
    outputs: { i: { dtype: 'int32', shape: [1] } },
    config: { decoupled: true },
  });
  triton.bind({
    modelName: 'Forever', // a response each 5 ms until the client is gone
    inferFunc: stream(async function* (_, { signal }) {
      for (let i = 0; !signal.aborted; i++) {
        yield { i: [[i]] };
        await delay(5);
      }
    }),
    inputs: { n: { dtype: 'int32', shape: [1] } },
    outputs: { i: { dtype: 'int32', shape: [1] } },
    config: { decoupled: true, concurrency: 4 },
  });
}

/**
 * The running total of a sequence, kept by the server, under both strategies.
 *
 * @param {import('tstriton').Triton} triton
 */
function bindSequences(triton) {
  for (const strategy of /** @type {const} */ (['direct', 'oldest'])) {
    triton.bind({
      modelName: strategy === 'direct' ? 'Total' : 'OldestTotal',
      inferFunc: batch(({ x }, { sequences }) => ({
        total: x.map((value, row) => {
          const state = /** @type {{ total: number }} */ (sequences[row]?.state);
          return (state.total += value);
        }),
      })),
      inputs: { x: { dtype: 'int32', shape: [1] } },
      outputs: { total: { dtype: 'int32', shape: [1] } },
      config: {
        maxBatchSize: 16,
        sequenceBatching: { strategy, maxSequenceIdleMicroseconds: 5_000_000, state: () => ({ total: 0 }) },
      },
    });
  }
}
