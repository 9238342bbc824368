// What the recorded clients were asked to do, by the name of the case. The recording has the results; the inputs are
// those of the recorder: `a` counts from 0, `b` is 1 throughout.
import { Tensor } from 'tstriton/client';

import type { ClientCase } from './client-cases.js';
import {
  loadModel,
  waitForModel,
  type CallOptions,
  type ClientOptions,
  type ClientUnderTest,
  type Outputs,
} from './client-under-test.js';

export interface Clients {
  /** A client of the case's own model, or of another. */
  readonly open: (options?: ClientOptions, model?: string) => ClientUnderTest;
  /** Of the server. */
  readonly url: string;
  /** A client of a port where nobody listens. */
  readonly openNowhere: () => ClientUnderTest;
}

type Call = (clients: Clients) => Promise<Outputs | readonly Outputs[]>;

const a = (rows: number, width = 16): Tensor =>
  new Tensor('float32', Float32Array.from({ length: rows * width }, (_, i) => i), [rows, width]); // prettier-ignore
const b = (rows: number, width = 16): Tensor => new Tensor('float32', new Float32Array(rows * width).fill(1), [rows, width]); // prettier-ignore
const row = (tensor: Tensor): Tensor => tensor.reshape([tensor.data.length]);
const doubles = new Tensor('float64', new Float64Array(32), [2, 16]);
const ONE = { a: Float32Array.of(0), b: Float32Array.of(1) };
const X = { x: [1] };

const inBatch =
  (inputs: unknown, options?: CallOptions): Call =>
  ({ open }) =>
    open().inferBatch(inputs, options);
const inSample =
  (inputs: unknown, options?: CallOptions): Call =>
  ({ open }) =>
    open().inferSample(inputs, options);
const inStream =
  (inputs: unknown, options?: CallOptions): Call =>
  ({ open }) =>
    open({}, 'Count').streamSample(inputs, options);
/** Waits as long as it must for what never comes. */
const SHORT_MS = 100;

export const CALLS: Readonly<Record<string, Call>> = {
  'infer-infer_batch-named': inBatch({ a: a(2), b: b(2) }),
  'infer-infer_batch-positional': inBatch([a(2), b(2)]),
  'infer-infer_sample-named': inSample({ a: row(a(1)), b: row(b(1)) }),
  'infer-infer_sample-positional': inSample([row(a(1)), row(b(1))]),
  'infer-positional-too-few': inBatch([a(2)]),
  'infer-positional-too-many': inBatch([a(2), b(2), b(2)]),
  'infer-no-inputs': inBatch({}),
  'infer-unknown-input-name': inBatch({ a: a(2), zz: b(2) }),
  'infer-extra-input': inBatch({ a: a(2), b: b(2), zz: b(2) }),
  'infer-missing-input': inBatch({ a: a(2) }),
  'infer-wrong-dtype': inBatch({ a: doubles, b: b(2) }),
  'infer-wrong-rank': inBatch({ a: row(a(1)), b: row(b(1)) }),
  'infer-infer_sample-with-batch-axis': inSample({ a: a(2), b: b(2) }),
  'infer-different-rows': inBatch({ a: a(2), b: b(3) }),
  'infer-batch-too-large': inBatch({ a: a(17), b: b(17) }),
  'infer-zero-rows': inBatch({ a: a(0), b: b(0) }),
  'infer-python-list': inBatch({ a: [[0, 1]], b: [[1, 1]] }),
  'infer-number': inBatch({ a: 1, b: 1 }),
  'infer-numpy-scalar': inSample({ a: new Tensor('float32', Float32Array.of(0), []), b: new Tensor('float32', Float32Array.of(1), []) }), // prettier-ignore
  'infer-unicode-array': inBatch({ s: new Tensor('string', ['ab'], [1, 1]) }),
  'infer-fixed-bytes': inBatch({ s: new Tensor('bytes', [Buffer.from('ab')], [1, 1]) }),
  'infer-object-bytes': inBatch({ s: [[Buffer.from('ab')]] }),
  'infer-object-str': inBatch({ s: [['ab']] }),
  'infer-object-empty': inBatch({ s: new Tensor('string', [], [0, 1]) }),
  'infer-fp16': inBatch({ x: Tensor.from('float16', [[1.5]]) }),
  'infer-bool': inBatch({ x: [[true]] }),
  'infer-infer_sample-on-non-batching': inSample({ m: Tensor.from('int32', [[0, 1], [2, 3]]) }), // prettier-ignore
  'infer-infer_batch-on-non-batching': inBatch({ m: Tensor.from('int32', [[0, 1], [2, 3]]) }), // prettier-ignore
  'infer-wrong-fixed-dim': inSample({ m: new Tensor('int32', new Int32Array(9), [3, 3]) }),
  'infer-callable-raises': inSample(X),
  'infer-parameters': inSample(X, { parameters: { s: 'v', i: 5, b: true } }),
  'infer-headers': inSample(X, { headers: { 'x-fwd-a': '1' } }),
  'infer-parameters-float': inSample(X, { parameters: { f: 1.5 } }),
  'infer-parameters-none-value': inSample(X, { parameters: { n: null } }),
  'infer-parameters-key-int': inSample(X, { parameters: { 1: 'v' } }),
  'infer-parameters-list': inSample(X, { parameters: ['v'] }),
  'infer-headers-list': inSample(X, { headers: ['v'] }),
  'infer-headers-int-value': inSample(X, { headers: { 'x-fwd-a': 1 } }),
  'infer-parameters-reserved': inSample(X, { parameters: { sequence_id: 1 } }),
  'infer-parameters-empty': inSample(X, { parameters: {} }),
  'infer-coupled-client-on-decoupled-model': inSample({ n: [1] }),
  'infer-timeout-0.5s': ({ open }) => open({ timeoutMs: SHORT_MS }).inferSample(X),
  'model-not-found': ({ open }) => open({}, 'Nope').inferSample(ONE),
  'model-not-found-not-lazy': ({ open }) => open({}, 'Nope').inferSample(ONE),
  'server-down': ({ openNowhere }) => openNowhere().inferSample(ONE),
  'version-not-found': ({ open }) => open({ version: 9 }, 'AddSub').inferSample(ONE),
  'version-number': ({ open }) => open({ version: 1 }, 'AddSub').inferSample(ONE),
  'version-text': ({ open }) => open({ version: '1' }, 'AddSub').inferSample(ONE),
  'not-lazy': ({ open }) => open({}, 'AddSub').inferSample(ONE),
  'closed-client': async ({ open }) => {
    const client = open({}, 'AddSub');
    await client.close();
    return client.inferSample(ONE);
  },
  'without-context-and-closed-twice': async ({ open }) => {
    const client = open({}, 'AddSub');
    const outputs = await client.inferSample(ONE);
    await client.close();
    await client.close();
    return outputs;
  },
  'decoupled-three': inStream({ n: [3] }),
  'decoupled-zero': inStream({ n: [0] }),
  'decoupled-batch': ({ open }) => open({}, 'Count').streamBatch({ n: [[2]] }),
  'decoupled-over-http': inStream({ n: [1] }),
  'decoupled-on-coupled-model': ({ open }) => open({}, 'AddSub').streamSample(ONE),
  'decoupled-parameters': inStream({ n: [1] }, { parameters: { p: 1 } }),
  'decoupled-headers': inStream({ n: [1] }, { headers: { 'x-fwd-a': '1' } }),
  'decoupled-wrong-dtype': inStream({ n: new Tensor('float64', Float64Array.of(3), [1]) }),
  'decoupled-second-while-open': ({ open }) => open({}, 'Count').streamTwice({ n: [2] }),
  'decoupled-next-after-failed-call': async ({ open }) => {
    const client = open({}, 'Count');
    await client.streamSample({ n: 'x' }).catch(() => {});
    return client.streamSample({ n: [2] });
  },
  'wait_for_model-missing': async ({ url }) => {
    await waitForModel(url, 'Nope', SHORT_MS);
    return [];
  },
  from_existing_client: ({ open }) => open({}, 'AddSub').inferSample(ONE),
  'load_model-without-token': async ({ url }) => {
    await loadModel(url, 'AddSub');
    return [];
  },
  'access_token-wrong': async ({ url }) => {
    await loadModel(url, 'AddSub', 'wrong');
    return [];
  },
  'access_token-empty': ({ open }) => open({ accessToken: '' }, 'AddSub').inferSample(ONE),
  'token-and-header-conflict': ({ open }) =>
    open({ accessToken: 'a' }, 'AddSub').inferSample(ONE, { headers: { 'triton-access-token': 'b' } }),
  'access_token-argument': ({ open }) => open({ accessToken: 'a' }, 'AddSub').inferSample(ONE),
  // Two of them wait, one for its answer and one for its turn, until the client is closed.
  'queue-full': ({ open }) => {
    const client = open({ maxConcurrency: 1, maxQueueSize: 1 }, 'Spin');
    for (const waiting of [client.inferSample(X), client.inferSample(X)]) waiting.catch(() => {});
    return client.inferSample(X);
  },
  'max_workers-0': ({ open }) => open({ maxConcurrency: 0 }, 'AddSub').inferSample(ONE),
  'max_queue_size-0': ({ open }) => open({ maxQueueSize: 0 }, 'AddSub').inferSample(ONE),
  'three-calls': ({ open }) => {
    const client = open({}, 'AddSub');
    return Promise.all([0, 1, 2].map((value) => client.inferSample({ ...ONE, a: Float32Array.of(value) })));
  },
};

/** What the client has no feature for yet, by the name of the case; a case that is only of one recorded client says so. */
export const COMING: Readonly<Record<string, string>> = {
  is_batching_supported: 'the configuration of the model, which another class of ours has',
  model_config: 'the configuration of the model, which another class of ours has',
};

/** What a bad argument of the recorded clients is here. */
export function badArgument({ model_name: model, inference_timeout_s: timeout, init_timeout_s: init }: ClientCase) {
  const timeoutMs = typeof timeout === 'number' ? timeout * 1000 : init;
  return { model: model ?? 'AddSub', options: timeoutMs === undefined ? {} : { timeoutMs } };
}
