// What the client's calls take and give, by the model's declaration.
import { defineModel, Tensor, type ModelSpec } from 'tstriton';
import { connect, ModelClient, type ClientOf } from 'tstriton/client';

import type { Equal, Expect } from './expect-type.js';

const FLOATS = { dtype: 'float32', shape: [-1] } as const;
const record = defineModel({
  modelName: 'Record',
  inputs: { a: FLOATS, b: { dtype: 'int32', shape: [1], optional: true } },
  outputs: { add: FLOATS, label: { dtype: 'string', shape: [1] } },
});
const strict = defineModel({ ...record, strict: true });
const list = defineModel({ modelName: 'List', inputs: [FLOATS, { dtype: 'int32', shape: [1] }], outputs: [FLOATS] });
const tokens = defineModel({ ...record, config: { decoupled: true } });

const f = Float32Array.of(1);
const i = Int32Array.of(1);

// The type of a client, by the declaration, or by what is bound.
const bound = { ...tokens, inferFunc: () => [] };
const ofBound = new ModelClient('localhost', tokens);
export type Clients = [
  Expect<Equal<ClientOf<typeof record>, ReturnType<typeof clientOfRecord>>>,
  Expect<Equal<ClientOf<typeof bound>, typeof ofBound>>,
  Expect<Equal<ClientOf<string>, never>>,
  Expect<Equal<ReturnType<typeof connected>['models']['a record'], ClientOf<typeof record>>>,
  Expect<Equal<keyof ReturnType<typeof connected>['models'], 'a record' | 'list' | 'bound'>>,
  Expect<Equal<ReturnType<ReturnType<typeof connected>['model']>, ModelClient>>,
];
function connected() {
  return connect('localhost', { 'a record': record, list, bound }, { timeoutMs: 5 });
}

/** Compiled, never called. */
export async function askAll(): Promise<void> {
  const { models, model } = connected();
  const { add } = await models['a record'].inferSample({ a: [1], b: [2] });
  add satisfies Tensor<'float32'> | undefined;
  for await (const { label } of models.bound.streamSample({ a: [1] })) label satisfies Tensor<'string'> | undefined;
  // @ts-expect-error -- the model is decoupled
  await models.bound.inferSample({ a: [1] });
  await using sequence = models['a record'].sequence({ id: 'a', outputs: ['label'] });
  (await sequence.infer({ a: [1] })).label satisfies Tensor<'string'> | undefined;
  // @ts-expect-error -- it was not asked
  (await sequence.end({ a: [1] }, { requestId: '7' })).add satisfies unknown;
  (await sequence.end()) satisfies void;
  // @ts-expect-error -- the model is decoupled
  await models.bound.sequence().infer({ a: [1] });
  // @ts-expect-error -- the sequence says what START and END are
  await sequence.infer({ a: [1] }, { sequence: { id: 7 } });
  // @ts-expect-error -- no such model was declared
  models.Record satisfies unknown;
  // @ts-expect-error -- the version belongs to a model
  connect('localhost', {}, { modelVersion: 2 });
  // @ts-expect-error -- a name is no declaration
  connect('localhost', { record: 'Record' });
  model satisfies (name: string) => ModelClient;
  connect('localhost').model('Any') satisfies ModelClient;
}
function clientOfRecord() {
  return new ModelClient('localhost', record);
}

/** Compiled, never called. */
export async function ask(url: string): Promise<unknown[]> {
  const ofRecord = new ModelClient(url, record);
  const ofStrict = new ModelClient(url, strict);
  const ofList = new ModelClient(url, list);
  const ofAny = new ModelClient(url, 'Any');
  const ofTokens = new ModelClient(url, tokens);

  // By name, as a list, one by one; options last.
  await ofRecord.inferSample({ a: f }, { outputs: ['add'] });
  await ofRecord.inferSample([f, i], { timeoutMs: 5 });
  await ofRecord.inferSample(f);
  await ofRecord.inferSample(f, i, { timeoutMs: 5 });
  await ofList.inferBatch({ INPUT_1: [[1]], INPUT_2: [[2]] });
  await ofList.inferBatch([[[1]], [[2]]]);
  await ofList.inferBatch([[1]], [[2]]);
  await ofList.inferBatch(Tensor.from('float32', [[1]]), [[2]], { parameters: { temperature: 1 } });
  await ofAny.inferSample(f, 5, 'text', [[true]], { headers: {} });

  // Without `strict` an output may be missing.
  const some = await ofRecord.inferSample({ a: f });
  const all = await ofStrict.inferSample({ a: f });
  const asked = await ofStrict.inferSample(f, i, { outputs: ['label'] });
  const ofName = await ofAny.inferSample({ x: 1 });
  type Given = [
    Expect<Equal<(typeof some)['add'], Tensor<'float32'> | undefined>>,
    Expect<Equal<(typeof all)['add'], Tensor<'float32'>>>,
    Expect<Equal<typeof asked, { readonly label: Tensor<'string'> }>>,
    Expect<Equal<typeof ofName, Readonly<Record<string, Tensor>>>>,
  ];
  // Streams: of any model, for a decoupled one they are the only calls.
  for await (const { add, label } of ofTokens.streamSample({ a: f }, { timeoutMs: 5 })) {
    const parts: [typeof add, typeof label] = [add, label];
    parts satisfies [Tensor<'float32'> | undefined, Tensor<'string'> | undefined];
    await ofTokens.streamBatch([[1]], [[1]]).return();
  }
  for await (const { label } of ofStrict.streamSample(f, i, { outputs: ['label'] })) label.data satisfies string[];
  for await (const { anything } of ofAny.streamSample(f)) anything satisfies Tensor | undefined;
  // @ts-expect-error Another dtype.
  ofTokens.streamSample({ a: i });
  // Texts in place of an output that is classified.
  const classified = await ofStrict.inferSample({ a: f }, { classes: { add: 3 } });
  classified.add.data satisfies string[];
  classified.label satisfies Tensor<'string'>;
  const byPosition = await ofRecord.inferSample(f, i, { classes: { add: 3 }, outputs: ['add'], priority: 1 });
  byPosition satisfies { readonly add: Tensor<'string'> | undefined };
  // @ts-expect-error An unknown output.
  await ofStrict.inferSample({ a: f }, { classes: { sub: 3 } });
  // @ts-expect-error An unknown output.
  ofTokens.streamSample({ a: f }, { outputs: ['sub'] });

  // @ts-expect-error It may be missing.
  some.add.toNested();

  // @ts-expect-error An unknown name.
  await ofRecord.inferSample({ a: f, c: f });
  // @ts-expect-error A required input is missing.
  await ofRecord.inferSample({ b: i });
  // @ts-expect-error All are missing.
  await ofRecord.inferSample({});
  // @ts-expect-error So are they with options.
  await ofRecord.inferSample({ timeoutMs: 5 });
  // @ts-expect-error Nor is nothing an inference.
  await ofRecord.inferSample();
  // @ts-expect-error Another dtype.
  await ofRecord.inferSample({ a: i });
  // Only batches come in parts.
  await ofRecord.inferBatch([[1]], [[1]], { chunk: true, retry: { maxAttempts: 2 }, outputs: ['add'] });
  await ofRecord.inferBatch({ a: [[1]] }, { chunk: true, retry: false });
  // @ts-expect-error A sample is one.
  await ofRecord.inferSample({ a: f }, { chunk: true });
  // @ts-expect-error An unknown option.
  await ofRecord.inferSample({ a: f }, { timeout: 5 });
  // @ts-expect-error An unknown output.
  await ofRecord.inferSample({ a: f }, { outputs: ['sub'] });
  // @ts-expect-error The other way round.
  await ofList.inferSample(i, f);
  // @ts-expect-error One too few.
  await ofList.inferSample(f);
  // @ts-expect-error One too many.
  await ofList.inferSample(f, i, f);
  // @ts-expect-error A decoupled model answers any number of times.
  await ofTokens.inferSample({ a: f });
  // @ts-expect-error Nor does it take batches.
  await ofTokens.inferBatch([f]);
  // @ts-expect-error Nor positions.
  await ofTokens.inferSample(f, i);
  return [] satisfies Given[];
}

export const renewed = [
  new ModelClient('', record, { tls: () => ({ ca: '' }) }),
  // @ts-expect-error A connection does not wait for a promise.
  new ModelClient('', record, { tls: async () => ({ ca: '' }) }),
  // @ts-expect-error The texts, and not the files.
  new ModelClient('', record, { tls: () => ({ caFile: '' }) }),
];

/** A client of some model can be handed around as a client of any. */
export const clients: ModelClient[] = [
  new ModelClient('', record),
  new ModelClient('', strict),
  new ModelClient('', list),
];
export function ofUnknown(spec: ModelSpec): ModelClient {
  return new ModelClient('', spec);
}
