import { describe, expect, it } from 'vitest';

import type { Dtype } from '../tensor/dtype.js';
import { DTYPES } from '../tensor/dtype.js';
import { generateModule, type DescribedModel } from './generate-module.js';

function tensor(name: string, dtype: Dtype = 'float32', shape: readonly number[] = [-1], optional = false) {
  return { name, dtype, datatype: DTYPES[dtype].datatype, shape, optional };
}

function model(changes: Partial<DescribedModel> = {}): DescribedModel {
  return {
    name: 'AddSub',
    version: undefined,
    source: 'configuration',
    inputs: [tensor('a'), tensor('b', 'int64', [2, -1], true)],
    outputs: [tensor('add')],
    maxBatchSize: 8,
    decoupled: false,
    ...changes,
  };
}

const generate = (...models: readonly DescribedModel[]) => generateModule(models, { strict: false });

/** The declaration that a module holds, read as the language reads it. */
function declared(module: string): unknown {
  const literal = /= defineModel\(([\s\S]*?)\);\n\nexport function/.exec(module)![1]!;
  // oxlint-disable-next-line typescript/no-implied-eval -- to run it is what proves that names are only names
  return (new Function(`return (${literal})`) as () => unknown)();
}

describe('the module of a model', () => {
  it('declares it, with its batch dimension and optional inputs, and makes clients of it', () => {
    expect(generate(model())).toBe(
      [
        '// Made by `tstriton gen`: changes are lost when it is made again.',
        '',
        'import {',
        '  connect as connectModels,',
        '  defineModel,',
        '  ModelClient,',
        '  type ConnectOptions,',
        '  type InProcessServer,',
        '  type ModelClientOptions,',
        "} from 'tstriton/client';",
        '',
        'export const addSub = defineModel({',
        "  modelName: 'AddSub',",
        '  inputs: {',
        "    a: { dtype: 'float32', shape: [-1] },",
        "    b: { dtype: 'int64', shape: [2, -1], optional: true },",
        '  },',
        '  outputs: {',
        "    add: { dtype: 'float32', shape: [-1] },",
        '  },',
        '  config: { maxBatchSize: 8 },',
        '});',
        '',
        'export function connectAddSub(server: string | InProcessServer, options: ModelClientOptions = {}) {',
        '  return new ModelClient(server, addSub, options);',
        '}',
        '',
        '/** One client for all of them, by the names of the models. */',
        'export function connect(server: string | InProcessServer, options: ConnectOptions = {}) {',
        '  const models = {',
        '    AddSub: addSub,',
        '  };',
        '  return connectModels(server, models, options);',
        '}',
        '',
      ].join('\n'),
    );
  });

  it('says that it is decoupled, that there is no batch dimension, its version, and that outputs are there', () => {
    const alone = model({ maxBatchSize: 0, decoupled: true, version: 3 });
    expect(declared(generateModule([alone], { strict: true }))).toMatchObject({
      modelVersion: 3,
      config: { batching: false, decoupled: true },
      strict: true,
    });
    expect(generate(model({ source: 'metadata' }))).toContain('// The server tells no configuration');
  });

  it.each([
    "'; process.exit(1); '",
    '"',
    '\\',
    "\\'",
    '\\"',
    '`${1}`',
    '*/ process.exit(1) /*',
    'a\nprocess.exit(1)//',
    '\r',
    '\u2028process.exit(1)',
    '\u0000',
    '\u007f',
    '\ud800',
    '😀',
    'ß',
    'a-b',
    'class',
    'constructor',
    '</script>',
  ])('keeps the tensor name %j as it is, whatever is in it', (name) => {
    const module = generate(model({ inputs: [tensor(name)], outputs: [tensor(name)] }));
    expect(declared(module)).toMatchObject({
      inputs: { [name]: { dtype: 'float32', shape: [-1] } },
      outputs: { [name]: { dtype: 'float32', shape: [-1] } },
    });
    // Nothing that ends a line in the middle of a literal.
    expect(module.split(/[\r\u2028\u2029]/)).toHaveLength(1);
    expect(module.split('\n')).toHaveLength(
      generate(model({ inputs: [tensor('x')], outputs: [tensor('x')] })).split('\n').length,
    );
  });

  it('is a list where names are numbers, or one that a record cannot have', () => {
    for (const names of [['10', '2'], ['__proto__'], ['x', '0']]) {
      const given = declared(generate(model({ inputs: names.map((name) => tensor(name)) }))) as {
        readonly inputs: readonly unknown[];
      };
      expect(given.inputs).toEqual(names.map((name) => ({ name, dtype: 'float32', shape: [-1] })));
    }
  });

  it.each([
    ['my-model.v2', 'myModelV2', 'connectMyModelV2'],
    ['BERT', 'bert', 'connectBert'],
    ['2d_conv', 'model2dConv', 'connectModel2dConv'],
    ['class', 'classModel', 'connectClassModel'],
    ['---', 'model', 'connectModel'],
    ['defineModel', 'defineModelModel', 'connectDefineModelModel'],
    ['server', 'serverModel', 'connectServerModel'],
    ['options', 'optionsModel', 'connectOptionsModel'],
    ['models', 'modelsModel', 'connectModelsModel'],
    ['connect', 'connectModel', 'connectConnectModel'],
    ['connectModels', 'connectModelsModel', 'connectConnectModelsModel'],
  ])('calls model %s %s', (name, declaredAs, made) => {
    const module = generate(model({ name }));
    expect(module).toContain(`export const ${declaredAs} = defineModel({\n  modelName: '${name}',`);
    expect(module).toContain(`export function ${made}(`);
  });

  it('gives each of several models names of their own', () => {
    const names = ['AddSub', 'connectAddSub', 'add-sub', 'add_sub', 'Models', 'Other'];
    const module = generate(...names.map((name) => model({ name })));
    const exported = [...module.matchAll(/^export (?:const|function) (\w+)/gm)].map(([, name]) => name!);
    expect(exported).toEqual([
      'addSub', 'connectAddSub', 'connectAddSubModel', 'connectConnectAddSubModel', 'addSubModel2', 'connectAddSubModel2',
      'addSubModel3', 'connectAddSubModel3', 'modelsModel', 'connectModelsModel', 'other', 'connectOther', 'connect',
    ]); // prettier-ignore
    expect(new Set(exported).size).toBe(names.length * 2 + 1);
  });

  it('has one client for all, by the names of the models', () => {
    const module = generate(model(), model({ name: 'my-model.v2' }), model({ name: '__proto__' }));
    expect(module).toContain("    AddSub: addSub,\n    'my-model.v2': myModelV2,\n    ['__proto__']: proto,\n");
  });

  it('refuses a model that is given twice, and one that no client takes', () => {
    expect(() => generate(model(), model({ name: 'Other' }), model())).toThrow("model 'AddSub' is given twice");
    expect(() => generate(model({ name: 'org/model' }))).toThrow('Model name can only contain');
    expect(() => generate(model({ inputs: [tensor('x'), tensor('x')] }))).toThrow("'x'");
  });
});
