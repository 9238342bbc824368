import { describe, expect, it } from 'vitest';

import { isInstanceGroup } from '../../model/instance-group.js';
import { modelsOf, type ModuleFile } from './exported-models.js';

const FILE: ModuleFile = { name: 'model.ts', url: 'file:///model.ts', instances: undefined };
const declared = (modelName: string) => ({ modelName, inputs: {}, outputs: {} });
const infer = () => [];
const bound = (modelName: string) => ({ ...declared(modelName), inferFunc: infer });
const namesOf = async (exported: Readonly<Record<string, unknown>>) =>
  (await modelsOf(exported, FILE)).map(({ modelName }) => modelName);
type Binder = { bind(model: unknown): unknown };

describe('the models that a module exports', () => {
  it.each<[string, Readonly<Record<string, unknown>>, readonly string[]]>([
    ['as default', { default: bound('A') }, ['A']],
    ['by names, beside what is its own business', { a: bound('A'), b: bound('B'), helper: () => 1, VERSION: '1' }, ['A', 'B']],
    ['in a list', { default: [bound('A'), bound('B')] }, ['A', 'B']],
    ['as a module of CommonJS', { default: { a: bound('A') } }, ['A']],
    ['with a declaration that is bound elsewhere in it', { a: declared('A'), default: bound('A') }, ['A']],
    ['by functions that bind', { a: declared('A'), bindA: (triton: Binder) => triton.bind(bound('A')) }, ['A']],
    ['by functions that bind later', { bindA: async (triton: Binder) => triton.bind(await Promise.resolve(bound('A'))) }, ['A']],
  ])('are those that it exports %s', async (_, exported, names) => {
    expect(await namesOf(exported)).toEqual(names);
  }); // prettier-ignore

  it.each([
    ['tensors', { modelName: 'A', inferFunc: infer }],
    ['outputs', { modelName: 'A', inferFunc: infer, inputs: {} }],
    ['inputs', { modelName: 'A', inferFunc: infer, outputs: {} }],
  ])('are those that lack their %s, of which bind tells', async (_, model) => {
    expect(await namesOf({ default: model })).toEqual(['A']);
  });

  it('are one where it is exported by two names', async () => {
    const model = bound('A');
    expect(await namesOf({ default: model, model })).toEqual(['A']);
  });

  it.each(['default', 'infer', 'inferFunc'])(
    'are a declaration with the callable that is exported as %s',
    async (name) => {
      const setup = () => undefined;
      const [model] = await modelsOf({ a: declared('A'), [name]: infer, setup }, FILE);
      expect(model).toMatchObject({ modelName: 'A', inferFunc: infer, setup });
    },
  );

  it('run in as many threads as are asked for, where the callable is the default export', async () => {
    const [model] = await modelsOf({ a: declared('A'), default: infer, setup: infer }, { ...FILE, instances: 3 });
    expect(isInstanceGroup(model!.inferFunc)).toBe(true);
    expect(model).toMatchObject({ inferFunc: { count: 3, url: FILE.url } });
    // The module sets itself up in each thread.
    expect(model).not.toHaveProperty('setup');
  });

  it.each<[string, Readonly<Record<string, unknown>>, string]>([
    ['nothing', {}, 'model.ts exports no model, expected what triton.bind takes'],
    ['something else', { x: 1, y: infer }, 'a function named bind…; it exports x, y'],
    ['a declaration alone', { a: declared('A') }, "model.ts declares model 'A' without a callable"],
    ['a misspelt callable', { a: { ...declared('A'), inferFn: () => [] } }, "model 'A' has an unknown option 'inferFn'; did you mean 'inferFunc'?"],
    ['a function that binds nothing', { bindA: (triton: Binder) => triton.bind(undefined) }, 'a model must be an object, got undefined'],
    ['one callable for several', { a: declared('A'), b: declared('B'), default: infer }, "one callable, its export 'default', for the models 'A', 'B'"],
  ])('are missed where it exports %s', async (_, exported, message) => {
    await expect(modelsOf(exported, FILE)).rejects.toThrow(message);
  }); // prettier-ignore

  it('say themselves how many instances they have', async () => {
    await expect(modelsOf({ default: bound('A') }, { ...FILE, instances: 2 })).rejects.toThrow(
      "model.ts says itself how many instances 'A' has",
    );
  });
});
