// What people write first: functions and classes whose tensors have no dtype, and whose results have no names or no length
// that the compiler knows. The server checks at run time what the compiler cannot.
import {
  batch,
  defineModel,
  fillOptionals,
  firstValue,
  groupByKeys,
  groupByValues,
  padBatch,
  sample,
  stream,
  Tensor,
  Triton,
  type InferenceContext,
  type InferenceRequest,
} from 'tstriton';

const triton = new Triton();

const FLOATS = { dtype: 'float32', shape: [-1] } as const;
const INTEGERS = { dtype: 'int32', shape: [-1] } as const;
const one = defineModel({ modelName: 'One', inputs: [FLOATS], outputs: [FLOATS] });
const two = defineModel({ modelName: 'Two', inputs: [FLOATS, INTEGERS], outputs: [FLOATS, INTEGERS] });
const addSub = defineModel({
  modelName: 'AddSub',
  inputs: { a: FLOATS, b: FLOATS },
  outputs: { add: FLOATS, sub: FLOATS },
});
const decoupled = defineModel({ ...addSub, config: { decoupled: true } });
const prompts = defineModel({
  modelName: 'Prompts',
  inputs: {
    x: FLOATS,
    scale: { dtype: 'int64', shape: [1], optional: true },
    language: { dtype: 'string', shape: [1] },
  },
  outputs: { y: FLOATS },
});

// The seeds' wrapper of a model, one for each device.

class InferFuncWrapper {
  @batch
  infer(inputs: Record<string, Tensor>) {
    const [x] = Object.values(inputs);
    return [x!];
  }
}
triton.bind({ ...one, inferFunc: new InferFuncWrapper() });
triton.bind({
  modelName: 'Linear',
  inferFunc: [new InferFuncWrapper(), new InferFuncWrapper()],
  inputs: [{ dtype: Float32Array, shape: [-1] }],
  outputs: [{ dtype: Float32Array, shape: [-1] }],
  config: { maxBatchSize: 16 },
});

function inferFuncFactory(devices: string[]) {
  const inferFns = [];
  for (const device of devices) {
    if (device !== 'tpu') inferFns.push(new InferFuncWrapper());
  }
  return inferFns;
}
triton.bind({ ...one, inferFunc: inferFuncFactory(['cuda', 'cpu']) });
triton.bind({
  modelName: 'Linear',
  inferFunc: inferFuncFactory(['cuda', 'cpu']),
  inputs: [{ dtype: Float32Array, shape: [-1] }],
  outputs: [{ dtype: Float32Array, shape: [-1] }],
  config: { maxBatchSize: 16 },
});
class Misspelling {
  @batch
  infer({ a, b }: { a: Tensor; b: Tensor }) {
    return { add: a, sum: b };
  }
}
const misspellings = ['cuda', 'cpu'].map(() => new Misspelling());
// @ts-expect-error No output is named sum.
triton.bind({ ...addSub, inferFunc: misspellings });
const mixed: (InferFuncWrapper | Misspelling)[] = [new InferFuncWrapper()];
// @ts-expect-error One of several kinds does not fit.
triton.bind({ ...addSub, inferFunc: mixed });

// Methods under decorators.

class Methods {
  @batch
  byPosition([a, b]: Tensor[]) {
    return [a!.map((value) => 2 * value), b!];
  }
  @batch
  byName({ a, b }: { a: Tensor; b: Tensor }) {
    return { add: a.map((value, i) => value + b.data[i]), sub: b };
  }
  @batch
  records(inputs: Record<string, Tensor>): Record<string, Tensor> {
    return { add: inputs['a']!, sub: inputs['b']! };
  }
  @batch
  async later(inputs: Readonly<Record<string, Tensor>>, { logger }: InferenceContext): Promise<Tensor[]> {
    logger.info(Object.keys(inputs).join());
    return Promise.resolve(Object.values(inputs));
  }
  @sample
  alone(inputs: Record<string, Tensor>) {
    return { add: Tensor.from('float32', [1]), sub: inputs['b']! };
  }
  @stream
  *steps(inputs: Record<string, Tensor>) {
    yield [inputs['a']!, inputs['b']!];
  }
  raw(requests: InferenceRequest[]) {
    return requests.map(({ inputs }) => Object.values(inputs));
  }
}
const methods = new Methods();
triton.bind({ ...two, inferFunc: { object: methods, method: 'byPosition' } });
triton.bind({ ...addSub, inferFunc: { object: methods, method: 'byName' } });
triton.bind({ ...addSub, inferFunc: { object: methods, method: 'records' } });
triton.bind({ ...two, inferFunc: [{ object: methods, method: 'records' }] });
triton.bind({ ...addSub, inferFunc: { object: methods, method: 'later' } });
triton.bind({ ...two, inferFunc: { object: methods, method: 'later' } });
triton.bind({ ...addSub, config: { maxBatchSize: 1 }, inferFunc: { object: methods, method: 'alone' } });
triton.bind({ ...decoupled, inferFunc: { object: methods, method: 'steps' } });
triton.bind({ ...addSub, inferFunc: { object: methods, method: 'raw' } });
triton.bind({ ...two, inferFunc: { object: methods, method: 'raw' } });

// Functions, decorated in place and apart.

function list(inputs: Record<string, Tensor>) {
  return Object.values(inputs);
}
function first([x]: Tensor[]) {
  return [x!];
}
function names({ a, b }: { a: Tensor; b: Tensor }) {
  return { add: a, sub: b };
}
function record(inputs: Record<string, Tensor>): Record<string, Tensor> {
  return inputs;
}
const [listing, naming, recording] = [batch(list), batch(names), batch(record)];
triton.bind({ ...one, inferFunc: batch(list) });
triton.bind({ ...two, inferFunc: [listing, batch(list), recording] });
triton.bind({ ...addSub, inferFunc: [listing, naming, recording, batch(names), batch(record)] });
triton.bind({ ...addSub, inferFunc: [groupByKeys(batch(record)), groupByKeys(batch(names))] });
triton.bind({ ...one, inferFunc: batch(first) });
triton.bind({ ...two, inferFunc: batch(([a, b]: Tensor[]) => [a!, b!]) });
triton.bind({ ...addSub, inferFunc: batch(({ a, b }: { a: Tensor; b: Tensor }) => ({ add: a, sub: b })) });
triton.bind({ ...addSub, inferFunc: batch((inputs: Record<string, Tensor>): Record<string, Tensor> => inputs) });
triton.bind({
  ...one,
  inferFunc: batch((inputs: Record<string, Tensor>) => {
    const [x] = Object.values(inputs);
    return [x!];
  }),
});
const raw = (requests: { inputs: Record<string, Tensor> }[]): Tensor[][] =>
  requests.map(({ inputs }) => Object.values(inputs));
triton.bind({ ...addSub, inferFunc: raw });
triton.bind({ ...two, inferFunc: raw });

// Decorators with arguments on methods.

class Translator {
  @fillOptionals({ scale: 1 })
  @groupByKeys
  @batch
  @groupByValues(['language', 'scale'])
  @padBatch
  @firstValue(['language', 'scale'])
  infer({ x, scale, language }: { x: Tensor<'float32'>; scale: bigint; language: string }) {
    return { y: x.map((value) => value + Number(scale) + language.length) };
  }
  @batch
  @firstValue(['language'], { strict: false, squeezeSingleValues: true })
  @groupByValues(['language'], {})
  async ofList([x, , language]: [Tensor, bigint | undefined, string]) {
    return Promise.resolve([x.map((value) => value + language.length)]);
  }
  @batch
  @firstValue(['language'])
  wrong({ x, language }: { x: Tensor; language: number }) {
    return [x.map((value) => value + language)];
  }
}
const listed = defineModel({
  ...prompts,
  inputs: [FLOATS, { ...prompts.inputs.scale, name: 'scale' }, { ...prompts.inputs.language, name: 'language' }],
});
triton.bind({ ...prompts, inferFunc: new Translator() });
triton.bind({ ...listed, inferFunc: { object: new Translator(), method: 'ofList' } });

// What must not compile.

class Wrong {
  @batch
  otherInput({ a, c }: { a: Tensor; c: Tensor }) {
    return { add: a, sub: c };
  }
  @batch
  misspelt({ a, b }: { a: Tensor; b: Tensor }) {
    return { add: a, sbu: b };
  }
  @batch
  otherDtype(inputs: Record<string, Tensor<'int32'>>) {
    return Object.values(inputs);
  }
  @batch
  noOutputOfTheDtype(inputs: Record<string, Tensor>): Tensor<'string'>[] {
    return Object.values(inputs);
  }
  @batch
  tensorAlone(inputs: Record<string, Tensor>) {
    return inputs['a']!;
  }
  @batch
  *generator(inputs: Record<string, Tensor>) {
    yield [inputs['a']!, inputs['b']!];
  }
  @batch
  number(inputs: Record<string, Tensor>) {
    return Object.keys(inputs).length;
  }
  raw(requests: InferenceRequest[]) {
    return requests.map(({ id }) => id);
  }
}
const wrong = new Wrong();
// @ts-expect-error An input that the model does not have.
triton.bind({ ...addSub, inferFunc: { object: wrong, method: 'otherInput' } });
// @ts-expect-error An output that the model does not have.
triton.bind({ ...addSub, inferFunc: { object: wrong, method: 'misspelt' } });
// @ts-expect-error Tensors of another dtype.
triton.bind({ ...addSub, inferFunc: { object: wrong, method: 'otherDtype' } });
// @ts-expect-error No output has the dtype.
triton.bind({ ...two, inferFunc: { object: wrong, method: 'noOutputOfTheDtype' } });
const texts = (inputs: Record<string, Tensor>): Tensor<'string'>[] => Object.values(inputs);
// @ts-expect-error No output has the dtype.
triton.bind({ ...two, inferFunc: batch(texts) });
// @ts-expect-error A tensor is no list of outputs.
triton.bind({ ...addSub, inferFunc: { object: wrong, method: 'tensorAlone' } });
// @ts-expect-error A generator for a model that is not decoupled.
triton.bind({ ...addSub, inferFunc: { object: wrong, method: 'generator' } });
// @ts-expect-error A number.
triton.bind({ ...addSub, inferFunc: { object: wrong, method: 'number' } });
// @ts-expect-error Texts.
triton.bind({ ...addSub, inferFunc: { object: wrong, method: 'raw' } });
// @ts-expect-error A function of tensors that no decorator calls.
triton.bind({ ...addSub, inferFunc: names });
// @ts-expect-error The same by position.
triton.bind({ ...two, inferFunc: ([a, b]: Tensor[]) => [a!, b!] });
// @ts-expect-error The same of any names.
triton.bind({ ...addSub, inferFunc: record });
// @ts-expect-error The value of an input is of another type.
triton.bind({ ...prompts, inferFunc: { object: new Translator(), method: 'wrong' } });
