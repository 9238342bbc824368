import { describe, expect, it } from 'vitest';

import { Tensor } from '../tensor/tensor.js';
import { defineModel } from './callable.js';
import type { CallableModels } from './model-calls.js';
import { typedModel } from './typed-model.js';

const BYTES = new Tensor('bytes', [Uint8Array.from(Buffer.from('ä'))], [1]);
const spec = defineModel({
  modelName: 'Words',
  inputs: { text: { dtype: 'string', shape: [1] } },
  outputs: { word: { dtype: 'string', shape: [1] }, raw: { dtype: 'bytes', shape: [1] } },
});
const INPUTS = { text: new Tensor('string', ['ä'], [1]) };

/** Models that answer everything with these tensors, and what they were asked with. */
function modelsWith(...responses: Readonly<Record<string, Tensor>>[]): { models: CallableModels; asked: unknown[] } {
  const asked: unknown[] = [];
  const model = {
    infer: async (inputs: unknown, options: unknown) => (asked.push([inputs, options]), responses[0]!),
    async *stream(inputs: unknown, options: unknown) {
      asked.push([inputs, options]);
      yield* responses;
    },
  };
  return { models: { Words: model }, asked };
}

describe('typedModel', () => {
  it('gives strings where they are declared, and bytes where those are', async () => {
    const { models } = modelsWith({ word: BYTES, raw: BYTES });
    const { word, raw } = await typedModel(models, spec).infer(INPUTS);
    expect([word!.dtype, word!.data, raw!.dtype]).toEqual(['string', ['ä'], 'bytes']);
  });

  it('does so for every response of a stream', async () => {
    const { models } = modelsWith({ word: BYTES }, {}, { word: BYTES });
    const words: unknown[] = [];
    for await (const { word } of typedModel(models, spec).stream(INPUTS)) words.push(word?.data);
    expect(words).toEqual([['ä'], undefined, ['ä']]);
  });

  it('hands inputs and options on, and asks for the declared version unless told otherwise', async () => {
    const { models, asked } = modelsWith({});
    await typedModel(models, spec).infer(INPUTS);
    const second = typedModel(models, { ...spec, modelVersion: 2 });
    await second.infer(INPUTS, { outputs: ['word'] });
    await second.infer(INPUTS, { modelVersion: 3 });
    expect(asked).toEqual([
      [INPUTS, {}],
      [INPUTS, { modelVersion: 2, outputs: ['word'] }],
      [INPUTS, { modelVersion: 3 }],
    ]);
  });

  it('refuses an answer of another dtype than declared, and leaves outputs alone that are not declared', async () => {
    const extra = Tensor.from('int32', [1]);
    const { word, more } = (await typedModel(modelsWith({ word: BYTES, more: extra }).models, spec).infer(
      INPUTS,
    )) as never;
    expect([word, more]).toEqual([expect.objectContaining({ dtype: 'string' }), extra]);
    await expect(typedModel(modelsWith({ word: extra }).models, spec).infer(INPUTS)).rejects.toThrow(
      expect.objectContaining({
        code: 'INTERNAL',
        message: "output 'word' of model 'Words' is INT32, expected BYTES",
      }),
    );
  });

  it('knows the names of outputs that are declared as a list', async () => {
    const list = defineModel({ modelName: 'Words', inputs: [], outputs: [{ dtype: 'string', shape: [1] }] });
    const { OUTPUT_1: word } = await typedModel(modelsWith({ OUTPUT_1: BYTES }).models, list).infer({});
    expect(word!.data).toEqual(['ä']);
  });

  it('takes inputs in declaration order, whichever form they were declared in', async () => {
    const [a, b] = [Tensor.from('int8', [1]), Tensor.from('bool', [true])];
    const outputs = {};
    const list = defineModel({
      modelName: 'Words',
      inputs: [
        { dtype: 'int8', shape: [1] },
        { name: 'flag', dtype: 'bool', shape: [1], optional: true },
      ],
      outputs,
    });
    const record = defineModel({
      modelName: 'Words',
      inputs: { a: { dtype: 'int8', shape: [1] }, b: { dtype: 'bool', shape: [1] } },
      outputs,
    });
    const { models, asked } = modelsWith({});
    await typedModel(models, list).infer([a, b]);
    await typedModel(models, list).infer([a, undefined]);
    await typedModel(models, record).infer([a, b]);
    for await (const _ of typedModel(models, list).stream({ INPUT_1: a })) break;
    expect(asked.map((call) => (call as [object])[0])).toEqual([
      { INPUT_1: a, flag: b },
      { INPUT_1: a },
      { a, b },
      { INPUT_1: a },
    ]);
    await expect(typedModel(models, record).infer([a, b, b])).rejects.toThrow(
      expect.objectContaining({
        code: 'INVALID_ARG',
        message: "model 'Words' has 2 inputs (a, b), got a list of 3",
      }),
    );
  });
});
