// Models from folders in Triton's layout: what is served, what of it is shown, and what is refused with which words.
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { Triton, type TritonConfig } from 'tstriton';

import { callJson, grpcService } from '../support/grpc-service.js';
import { added, addingModule, index, modelRepository, type TestedRepository } from '../support/model-repository.js';
import { FREE_PORTS, inferJson, startServer, type RunningServer } from '../support/start-server.js';

const NOTHING_BOUND = () => undefined;

function serve(repository: TestedRepository, config: TritonConfig = {}): Promise<RunningServer> {
  return startServer(NOTHING_BOUND, { modelRepository: repository.path, restrictedEndpoints: [], ...config });
}

async function get(http: string, path: string) {
  return (await callJson(`${http}/v2/${path}`))[1] as Record<string, unknown>;
}

describe.each([{ serverThread: true }, { serverThread: false }])('a model repository with %o', (thread) => {
  it('with a folder that is broken is not ready, for clients and for the program', async () => {
    const repository = modelRepository({ 'adder/1/model.mjs': addingModule(1), 'broken/1/model.mjs': 'broken(' });
    await using server = await serve(repository, { ...thread, exitOnError: false, modelControlMode: 'poll' });
    const ready = async () => [server.triton.isReady, (await fetch(`${server.http}/v2/health/ready`)).ok];
    expect(await ready()).toEqual([false, false]);
    repository.remove('broken');
    await server.triton.pollModelRepository();
    expect(await ready()).toEqual([true, true]);
  });

  it('serves a module on the route that it declares', async () => {
    const repository = modelRepository({
      'length/1/model.mjs': `export default {
        route: 'POST /length',
        description: 'Counts bytes',
        inputs: { file: { dtype: 'bytes', shape: [1], contentEncoding: 'base64', description: 'Any file' } },
        outputs: { length: { dtype: 'int32', shape: [1] } },
        config: { batching: false },
        inferFunc: (requests) => requests.map(({ inputs: { file } }) => ({ length: [file.data[0].length] })),
      };`,
    });
    await using server = await serve(repository, thread);
    const answer = await fetch(`${server.http}/length`, { method: 'POST', body: '{"file":"AQID"}' });
    expect([answer.status, await answer.json()]).toEqual([200, { length: 3 }]);
    const described = JSON.stringify(await (await fetch(`${server.http}/openapi.json`)).json());
    expect(described).toContain('"summary":"Counts bytes"');
    expect(described).toContain('{"description":"Any file","type":"string","contentEncoding":"base64"}');
  });

  it('serves what tstriton serve takes from a module: a named binding, and a declaration beside the callable', async () => {
    const declared = (name: string) =>
      `{ modelName: '${name}', inputs: { x: { dtype: 'int32', shape: [1] } }, outputs: { y: { dtype: 'int32', shape: [1] } } }`;
    const callable = (plus: number) =>
      `(requests) => requests.map(({ inputs: { x } }) => ({ y: x.map((value) => value + ${plus}) }))`;
    const repository = modelRepository({
      'named/1/model.mjs': `export const other = 1; export const named = { ...${declared('named')}, inferFunc: ${callable(1)} };`,
      'beside/1/model.mjs': `export const model = ${declared('beside')}; export default ${callable(2)};`,
      'infers/1/model.mjs': `export const model = ${declared('infers')}; export const infer = ${callable(3)};`,
    });
    await using server = await serve(repository, thread);
    const ask = (model: string, value: number) =>
      inferJson(server.http, model, [{ name: 'x', datatype: 'INT32', shape: [1, 1], data: [value] }]);
    const answers = await Promise.all([ask('named', 10), ask('beside', 20), ask('infers', 30)]);
    expect(answers.map(({ outputs }) => outputs?.[0]?.data)).toEqual([[11], [22], [33]]);
  });

  it('is not clear about a module with two models, and says so', async () => {
    const one = (name: string) => `{ modelName: '${name}', inputs: {}, outputs: {}, inferFunc: () => [] }`;
    const repository = modelRepository({
      'two/1/model.mjs': `export const a = ${one('a')}; export const b = ${one('b')};`,
    });
    await expect(serve(repository, thread)).rejects.toThrow(/exports 2 models, expected one/);
  });

  it('names what a module exports where none of it is the model', async () => {
    const repository = modelRepository({
      'several/1/model.mjs': 'export const models = []; export function bindAll() {}',
    });
    await expect(serve(repository, thread)).rejects.toThrow(
      /several\/1\/model\.mjs must be a function, .*, got undefined; the module exports bindAll, models$/m,
    );
  });

  it('serves a module as it declares itself and as config.pbtxt completes it', async () => {
    const repository = modelRepository({
      'adder/1/model.mjs': addingModule(1),
      'adder/config.pbtxt': `
        backend: "tstriton"  # which the file's name says too
        max_batch_size: 16
        input { name: "x" data_type: TYPE_FP32 dims: [ 1 ] }
        instance_group [ { count: 2 kind: KIND_CPU } ]
        dynamic_batching { preferred_batch_size: [ 4 ] }
        parameters { key: "group_by_shape" value { string_value: "true" } }
        parameters { key: "greeting" value { string_value: "hello" } }`,
    });
    await using server = await serve(repository, thread);
    expect(await get(server.http, 'models/adder/config')).toMatchObject({
      name: 'adder',
      backend: 'tstriton',
      max_batch_size: 16,
      version_policy: { latest: { num_versions: 1 } },
      dynamic_batching: { preferred_batch_size: [4] },
      instance_group: [{ name: 'adder_0', kind: 'KIND_CPU', count: 2 }],
      parameters: { greeting: { string_value: 'hello' }, group_by_shape: { string_value: 'true' } },
      input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [1] }],
    });
    expect(await get(server.http, 'models/adder')).toMatchObject({ platform: 'tstriton', versions: ['1'] });
    expect(await added(server.http, 'adder')).toBe(1);
    using service = grpcService(server.grpc);
    expect(await service.call('ModelConfig', { name: 'adder' })).toMatchObject({
      config: { name: 'adder', parameters: { greeting: { string_value: 'hello' } }, version_policy: { latest: {} } },
    });
  });

  it('serves modules in TypeScript, which stream too, with files of a warm-up', async () => {
    const repository = modelRepository({
      'counter/1/model.ts': `
        type Request = { inputs: { n: { data: Int32Array } } };
        async function* count([{ inputs: { n } }]: [Request]): AsyncGenerator<{ i: Int32Array }[]> {
          for (let i = 0; i < (n.data[0] as number); i++) yield [{ i: Int32Array.of(i) }];
        }
        export default {
          inputs: { n: { dtype: 'int32', shape: [1] } },
          outputs: { i: { dtype: 'int32', shape: [1] } },
          config: { decoupled: true, batching: false },
          inferFunc: count,
        };`,
      'counter/config.pbtxt': `
        model_transaction_policy { decoupled: true }
        model_warmup [ {
          name: "two"
          inputs { key: "n" value { data_type: TYPE_INT32 dims: [ 1 ] input_data_file: "two.bin" } }
        } ]`,
      'counter/warmup/two.bin': Buffer.from(Int32Array.of(2).buffer),
    });
    await using server = await serve(repository, thread);
    expect(await get(server.http, 'models/counter/config')).toMatchObject({
      max_batch_size: 0,
      default_model_filename: 'model.ts',
      model_transaction_policy: { decoupled: true },
      model_warmup: [{ name: 'two', inputs: { n: { dims: [1], input_data_file: 'two.bin' } } }],
    });
    const response = await fetch(`${server.http}/v2/models/counter/generate_stream`, {
      method: 'POST',
      body: JSON.stringify({ n: 3 }),
    });
    expect((await response.text()).match(/"i":\d/g)).toEqual(['"i":0', '"i":1', '"i":2']);
  });

  it('serves a callable whose configuration says all, with labels and parameters', async () => {
    const repository = modelRepository({
      'scores/config.pbtxt': `
        max_batch_size: 4
        input [ { name: "x" data_type: TYPE_FP32 dims: [ 3 ] } ]
        output [ { name: "y" data_type: TYPE_FP32 dims: [ 3 ] label_filename: "labels.txt" } ]
        parameters { key: "factor" value { string_value: "2" } }`,
      'scores/labels.txt': 'cat\r\ndog\nbird\n',
      'scores/1/model.js': `
        let factor;
        export function setup({ modelConfig }) { factor = Number(modelConfig.parameters.factor); }
        export default (requests) => requests.map(({ inputs: { x } }) => [x.data.map((value) => factor * value)]);`,
      'scores/package.json': '{ "type": "module" }',
    });
    await using server = await serve(repository, thread);
    const inputs = [{ name: 'x', datatype: 'FP32', shape: [1, 3], data: [1, 3, 2] }];
    const { outputs } = await inferJson(server.http, 'scores', inputs, {
      outputs: [{ name: 'y', parameters: { classification: 2 } }],
    });
    expect(outputs[0]!.data).toEqual(['6.000000:1:dog', '4.000000:2:bird']);
    expect(await get(server.http, 'models/scores/config')).toMatchObject({
      output: [{ name: 'y', label_filename: 'labels.txt' }],
    });
  });

  it('shows a broken model with its reason while the others serve', async () => {
    const repository = modelRepository({
      'whole/1/model.mjs': addingModule(1),
      'misspelt/1/model.mjs': addingModule(1),
      'misspelt/config.pbtxt': 'max_batch_size: 8\nmax_batchsize: 8',
      'throwing/1/model.mjs': 'throw new Error("no such device");',
      'unreadable/1/model.mjs': 'export default {\n  inputs: ;',
      'failing/1/model.mjs': `export function setup() { throw new Error('no memory'); }\n${addingModule(1)}`,
      'empty/readme.txt': '',
      'an odd name/1/model.mjs': addingModule(1),
    });
    const errors: string[] = [];
    const ignore = () => undefined;
    const logger = { debug: ignore, info: ignore, warn: ignore, error: (text: string) => void errors.push(text) };
    await using server = await serve(repository, { ...thread, exitOnError: false, logger });
    expect(await index(server.http)).toEqual([
      expect.stringMatching(/^an odd name:1 UNAVAILABLE Invalid argument: Model name can only contain/),
      "empty: UNAVAILABLE Invalid argument: at least one version must be available under the version policy of model 'empty': expected a folder for each, such as empty/1",
      "failing:1 UNAVAILABLE Internal: setup of instance 0 of model 'failing' (model.mjs) failed: no memory",
      `misspelt: UNAVAILABLE Invalid argument: failed to read text proto from ${repository.path}/misspelt/config.pbtxt: 2:1: Message type "inference.ModelConfig" has no field named "max_batchsize"; did you mean "max_batch_size"?`,
      expect.stringMatching(/^throwing:1 UNAVAILABLE Invalid argument: cannot load the module .*no such device$/),
      expect.stringMatching(/^unreadable:1 .*: Unexpected token ';', at .*unreadable\/1\/model\.mjs:2$/),
      'whole:1 READY',
    ]);
    const log = errors.join('\n');
    expect(log).toMatch(/^failed to load 'throwing'.* no such device\n +at .*throwing\/1\/model\.mjs:1:7$/m);
    expect(log).toMatch(/^failed to load 'failing'.* no memory\n +at .*setup .*failing\/1\/model\.mjs:1:33\)$/m);
    expect(await added(server.http, 'whole')).toBe(1);
    expect((await callJson(`${server.http}/v2/health/ready`))[0]).toBe(400);
  });

  it('passes over links that lead nowhere or to themselves, and names folders that can be no model', async () => {
    const odd = 'a b\né\'"';
    const repository = modelRepository({ 'm/1/model.mjs': addingModule(1), [`${odd}/1/model.mjs`]: addingModule(2) });
    repository.link('itself', join(repository.path, 'itself'));
    repository.link('there', join(repository.path, 'back'));
    repository.link('back', join(repository.path, 'there'));
    repository.link('nowhere', join(repository.path, 'none'));
    for (const name of ['one', 'two']) repository.link(`m/1/${name}`, '.');
    repository.link('m/itself', join(repository.path, 'm/itself'));
    repository.link('m/around', '..');
    await using server = await serve(repository, { ...thread, exitOnError: false });
    const reason = 'Model name can only contain alphanumeric characters, dots, underscores and dashes';
    expect(await index(server.http)).toEqual([
      `${odd}:1 UNAVAILABLE Invalid argument: ${reason}, got ${JSON.stringify(odd)}`,
      'm:1 READY',
    ]);
    expect(await added(server.http, 'm')).toBe(1);
  });

  it('does not start with a broken model, unless that is put up with', async () => {
    const repository = modelRepository({
      'm/1/model.mjs': addingModule(1),
      'm/config.pbtxt': 'ensemble_scheduling {}',
    });
    const triton = new Triton({ ...FREE_PORTS, ...thread, modelRepository: repository.path });
    const reason = "ensemble_scheduling of model 'm' is not supported: there are no ensembles";
    await expect(triton.run()).rejects.toMatchObject({ code: 'INVALID_ARG', message: expect.stringContaining(reason) });
    repository.remove('m/config.pbtxt');
    await triton.run();
    expect(await added(`http://127.0.0.1:${triton.httpPort}`, 'm')).toBe(1);
    await triton.stop();
    repository.write('m/1/model.mjs', addingModule(2));
    await triton.run();
    expect(await added(`http://127.0.0.1:${triton.httpPort}`, 'm')).toBe(2);
    await triton.stop();
  });

  it('serves the versions that the version policy says', async () => {
    const versions = (policy: string, name: string) => ({
      [`${name}/config.pbtxt`]: policy,
      ...Object.fromEntries([1, 2, 7].map((version) => [`${name}/${version}/model.mjs`, addingModule(version)])),
    });
    const repository = modelRepository({
      ...versions('', 'default'),
      ...versions('version_policy: { latest: { num_versions: 2 } }', 'latest'),
      ...versions('version_policy: { all {} }', 'all'),
      ...versions('version_policy < specific { versions: [ 1, 7, 9 ] } >', 'specific'),
      'all/03/model.mjs': 'throw 1',
      'all/docs/readme.md': '',
    });
    await using server = await serve(repository, thread);
    expect(await index(server.http)).toEqual([
      'all:1 READY',
      'all:2 READY',
      'all:7 READY',
      'default:7 READY',
      'latest:2 READY',
      'latest:7 READY',
      'specific:1 READY',
      'specific:7 READY',
    ]);
    expect(await added(server.http, 'all/versions/2')).toBe(2);
  });

  it('has the program bind models beside those in folders, and tells names apart', async () => {
    const repository = modelRepository({ 'folder/1/model.mjs': addingModule(1), 'bound/1/model.mjs': addingModule(1) });
    const other = modelRepository({ 'twice/1/model.mjs': addingModule(1) });
    repository.write('twice/1/model.mjs', addingModule(1));
    await using server = await startServer(
      (triton) =>
        void triton.bind({
          modelName: 'bound',
          inputs: { x: { dtype: 'float32', shape: [1] } },
          outputs: { y: { dtype: 'float32', shape: [1] } },
          inferFunc: (requests) => requests,
        }),
      { ...thread, modelRepository: [repository.path, other.path], exitOnError: false, restrictedEndpoints: [] },
    );
    expect(await index(server.http)).toEqual([
      'bound:1 READY',
      'folder:1 READY',
      `twice: UNAVAILABLE Invalid argument: model appears in two or more repositories: ${repository.path}, ${other.path}`,
    ]);
    expect(await added(server.http, 'bound')).toBe(0);
  });
});

describe('what a model repository refuses', () => {
  it.each([
    ['default_model_filename: "../../secret.mjs"', '"../../secret.mjs" must be a path inside of'],
    ['default_model_filename: "/etc/passwd"', '"/etc/passwd" must be a path inside of'],
    ['default_model_filename: "link.mjs"', 'is a link that leads out of the model repository'],
    ['default_model_filename: "none.mjs"', 'none.mjs: there is no such file or folder'],
    ['output { name: "y" data_type: TYPE_FP32 dims: 1 label_filename: "../x" }', '"../x" must be a path inside of'],
    ['name: "other"', "unexpected directory name 'm' for model 'other', directory name must equal model name"],
    ['backend: "python"', "unable to find backend library for backend 'python'"],
    ['platform: "tensorflow_savedmodel"', "unexpected platform type 'tensorflow_savedmodel'"],
    [
      'platform: "onnxruntime_onnx" backend: "tstriton"',
      "unexpected 'platform' and 'backend' pair, got:onnxruntime_onnx, tstriton",
    ],
    ['instance_group { kind: KIND_GPU }', 'has kind KIND_GPU but server does not support GPUs'],
    ['instance_group { count: 1 passive: true }', 'instance_group[0].passive'],
    ['ensemble_scheduling { step {} }', 'there are no ensembles'],
    ['input { name: "x" data_type: TYPE_FP64 dims: 1 }', 'configuration expects datatype TYPE_FP64 for input'],
    ['input { name: "x" data_type: TYPE_FP32 dims: 2 }', 'the model expects dims [1] but the model configuration'],
    ['input { name: "z" data_type: TYPE_FP32 dims: 1 }', "unexpected inference input 'z' for model 'm'"],
    ['input { name: "x" dims: 1 }', "must specify 'data_type'"],
    ['max_batch_size: -1', "'max_batch_size' must be non-negative"],
    ['model_transaction_policy { decoupled: true }', 'its module declares false'],
    ['response_cache { enable: true }', 'needs a response cache'],
    ['max_batch_size: 4 dynamic_batching { preferred_batch_size: 8 }', 'preferred size must be <= max batch size'],
    [
      'max_batch_size: 4 dynamic_batching { } parameters { key: "group_by_shape" value { string_value: "yes" } }',
      `parameter 'group_by_shape' must be 'true' or 'false', got "yes"`,
    ],
    ['metric_tags { key: "a" value: "b" }', 'metric_tags'],
    ['optimization { execution_accelerators { } }', 'optimization.execution_accelerators'],
  ])('%s', async (config, reason) => {
    const repository = modelRepository({ 'm/1/model.mjs': addingModule(1), 'm/config.pbtxt': config });
    const outside = modelRepository({ 'secret.mjs': addingModule(1) });
    repository.link('m/1/link.mjs', `${outside.path}/secret.mjs`);
    const triton = new Triton({ ...FREE_PORTS, serverThread: false, modelRepository: repository.path });
    await expect(triton.run()).rejects.toMatchObject({ message: expect.stringContaining(reason) });
  });

  it('a folder that is a link out of it, and one that is not there', async () => {
    const outside = modelRepository({ 'm/1/model.mjs': addingModule(1) });
    const repository = modelRepository();
    symlinkSync(join(outside.path, 'm'), join(repository.path, 'm'));
    const run = (path: string) => new Triton({ ...FREE_PORTS, serverThread: false, modelRepository: path }).run();
    await expect(run(repository.path)).rejects.toThrow('is a link that leads out of the model repository');
    await expect(run(`${repository.path}/none`)).rejects.toThrow(
      `cannot read the model repository ${repository.path}/none`,
    );
  });
});
