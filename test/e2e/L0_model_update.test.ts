// Models from folders that change: loaded and unloaded by clients, and polled; and models that clients bring themselves.
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished, vi } from 'vitest';

import type { Triton, TritonConfig } from 'tstriton';

import { callJson, grpcService } from '../support/grpc-service.js';
import { added, addingModule, index, modelRepository, type TestedRepository } from '../support/model-repository.js';
import { addModel, identityModel, node, onnxModel, tensorValue } from '../support/onnx-builder.js';
import { openStream } from '../support/open-stream.js';
import { inferJson, startServer, type RunningServer } from '../support/start-server.js';
import { emptyFolder } from '../support/temporary-files.js';

const THREADS = [{ serverThread: true }, { serverThread: false }];

function serve(repository: TestedRepository, config: TritonConfig): Promise<RunningServer> {
  return startServer(() => undefined, { modelRepository: repository.path, restrictedEndpoints: [], ...config });
}

function load(http: string, model: string, parameters: Readonly<Record<string, string>> = {}) {
  return callJson(`${http}/v2/repository/models/${model}/load`, { parameters });
}

async function config(http: string, model: string) {
  return (await callJson(`${http}/v2/models/${model}/config`))[1] as Record<string, unknown>;
}

const failed = (message: string | RegExp) => [400, { error: expect.stringMatching(message) as unknown }];

describe.each(THREADS)('models that clients load from folders, %o', (thread) => {
  const explicit: TritonConfig = { ...thread, modelControlMode: 'explicit' };

  it('are listed at once, and loaded, unloaded and loaded again as they lie there then', async () => {
    const repository = modelRepository({ 'first/1/model.mjs': addingModule(1), 'second/1/model.mjs': addingModule(1) });
    await using server = await serve(repository, { ...explicit, loadModel: ['first'] });
    const { http } = server;
    expect(await index(http)).toEqual(['first:1 READY', 'second:']);
    repository.write('third/1/model.mjs', addingModule(3));
    expect(await index(http)).toEqual(['first:1 READY', 'second:', 'third:']);
    expect(await load(http, 'third')).toEqual([200, '']);
    expect(await added(http, 'third')).toBe(3);
    repository.write('third/1/model.mjs', addingModule(4));
    expect(await load(http, 'third')).toEqual([200, '']);
    expect(await added(http, 'third')).toBe(4);
    await callJson(`${http}/v2/repository/models/third/unload`, { parameters: { unload_dependents: true } });
    await expect.poll(() => index(http)).toContain('third:1 UNAVAILABLE unloaded');
    expect((await callJson(`${http}/v2/health/ready`))[0]).toBe(200);
    expect(await load(http, 'third')).toEqual([200, '']);
    expect(await added(http, 'third')).toBe(4);
    repository.write('odd/config.pbtxt', 'backend: "other"');
    expect(await load(http, 'odd')).toEqual(
      failed('failed to poll from model repository: at least one version must be available'),
    );
    expect((await callJson(`${http}/v2/health/ready`))[0]).toBe(200);
    expect(await load(http, 'fourth')).toEqual(
      failed("^failed to load 'fourth', failed to poll from model repository$"),
    );
    using service = grpcService(server.grpc);
    await expect(service.call('RepositoryModelLoad', { model_name: 'x\0y' })).rejects.toThrow(
      "failed to load 'x\0y', failed to poll from model repository",
    );
    for (const name of ['..', '../first', 'first/1']) {
      await expect(service.call('RepositoryModelLoad', { model_name: name })).rejects.toThrow(
        `invalid model name '${name}', model name must not contain path traversal characters`,
      );
    }
  });

  it('are unloaded after their load when a client unloads them while their module is read, and loaded again after that', async () => {
    const repository = modelRepository();
    const [begun, go] = ['begun', 'go'].map((name) => JSON.stringify(join(repository.path, `.${name}`)));
    repository.write(
      'm/1/model.mjs',
      `import { existsSync, writeFileSync } from 'node:fs';
writeFileSync(${begun}, '');
while (!existsSync(${go})) await new Promise((resolve) => setTimeout(resolve, 5));
${addingModule(1)}`,
    );
    await using server = await serve(repository, explicit);
    const { http } = server;
    const control = (action: 'load' | 'unload') => callJson(`${http}/v2/repository/models/m/${action}`, {});
    for (const isLoadedAgain of [false, true]) {
      const loaded = control('load');
      await expect.poll(() => existsSync(join(repository.path, '.begun'))).toBe(true);
      expect(await control('unload')).toEqual([200, '']);
      const again = isLoadedAgain ? control('load') : undefined;
      repository.write('.go', '');
      expect(await loaded).toEqual([200, '']);
      expect(await again).toEqual(isLoadedAgain ? [200, ''] : undefined);
      await expect.poll(() => index(http)).toEqual([isLoadedAgain ? 'm:1 READY' : 'm:1 UNAVAILABLE unloaded']);
      for (const name of ['.begun', '.go']) repository.remove(name);
    }
  });

  it('stay loaded when nothing of them has changed', async () => {
    const repository = modelRepository({ 'm/1/model.mjs': addingModule(1) });
    await using server = await serve(repository, { ...explicit, loadModel: '*' });
    expect(await added(server.http, 'm')).toBe(1);
    await load(server.http, 'm');
    const [, statistics] = await callJson(`${server.http}/v2/models/m/stats`);
    expect(statistics).toMatchObject({ model_stats: [{ inference_count: 1 }] });
  });

  it('serve on as they were when what lies there now does not load', async () => {
    const repository = modelRepository({ 'm/1/model.mjs': addingModule(1) });
    await using server = await serve(repository, { ...explicit, loadModel: '*' });
    const { http } = server;
    repository.write('m/1/model.mjs', `export function setup() { throw new Error('no memory'); }\n${addingModule(2)}`);
    expect(await load(http, 'm')).toEqual(
      failed(
        /^load failed for model 'm': version 1 is at UNAVAILABLE state: Internal: setup of instance 0 .*no memory;\n$/,
      ),
    );
    expect([await added(http, 'm'), await index(http)]).toEqual([1, ['m:1 READY']]);
    repository.write('m/config.pbtxt', 'max_batch_size: "2"');
    expect(await load(http, 'm')).toEqual(failed('1:17: expected an integer for max_batch_size, got the string "2"'));
    expect([await added(http, 'm'), await index(http)]).toEqual([1, ['m:1 READY']]);
    expect((await callJson(`${http}/v2/health/ready`))[0]).toBe(200);
    repository.remove('m/config.pbtxt');
    repository.write('m/1/model.mjs', addingModule(3));
    expect(await load(http, 'm')).toEqual([200, '']);
    expect(await added(http, 'm')).toBe(3);
  });

  it('take the configuration that a client gives, over both protocols, until they are loaded again', async () => {
    const repository = modelRepository({
      'm/1/model.mjs': addingModule(1),
      'm/2/model.mjs': addingModule(2),
      'm/config.pbtxt': 'max_batch_size: 8',
    });
    await using server = await serve(repository, { ...explicit, loadModel: '*' });
    const { http } = server;
    expect(await index(http)).toEqual(['m:2 READY']);
    const given = { max_batch_size: 2, version_policy: { specific: { versions: [1] } } };
    expect(await load(http, 'm', { config: JSON.stringify(given) })).toEqual([200, '']);
    expect(await config(http, 'm')).toMatchObject({ max_batch_size: 2 });
    expect([await index(http), await added(http, 'm')]).toEqual([['m:1 READY'], 1]);
    expect(await load(http, 'm', { config: '{"max_batch_size": -1}' })).toEqual(failed('Invalid config override'));
    expect(await load(http, 'm', { config: '{"backend": "python"}' })).toEqual(failed("backend 'python'"));
    expect(await load(http, 'm')).toEqual([200, '']);
    expect([await index(http), await added(http, 'm')]).toEqual([['m:2 READY'], 2]);
    using service = grpcService(server.grpc);
    const parameters = { config: { string_param: JSON.stringify({ max_batch_size: 3 }) } };
    await service.call('RepositoryModelLoad', { model_name: 'm', parameters });
    expect(await config(http, 'm')).toMatchObject({ max_batch_size: 3 });
  });

  it('may be ONNX files that a client brings, and no code', async () => {
    const repository = modelRepository({ 'known/1/model.onnx': identityModel('float32') });
    // Of its own: other servers have theirs in the usual one.
    const temporary = emptyFolder('tstriton-test-');
    vi.stubEnv('TMPDIR', temporary);
    onTestFinished(() => void vi.unstubAllEnvs());
    const folders = () => readdirSync(temporary).filter((name) => name.startsWith('tstriton-model-'));
    let triton: Triton;
    {
      await using server = await serve(repository, { ...explicit, loadModel: '*' });
      const { http } = server;
      ({ triton } = server);
      const bytes = addModel(['batch', 2]).toString('base64');
      const given = { config: '{"backend": "onnxruntime"}', 'file:1/model.onnx': bytes };
      expect(await load(http, 'brought', given)).toEqual([200, '']);
      const input = (name: string) => ({ name, datatype: 'FP32', shape: [1, 2], data: [1, 2] });
      expect((await inferJson(http, 'brought', [input('a'), input('b')])).outputs[0]!.data).toEqual([2, 4]);
      expect(folders()).toHaveLength(1);
      using service = grpcService(server.grpc);
      await service.call('RepositoryModelLoad', {
        model_name: 'known',
        parameters: {
          config: { string_param: '{"backend": "onnxruntime"}' },
          'file:3/model.onnx': { bytes_param: addModel(['batch', 1]) },
        },
      });
      expect(await index(http)).toEqual(['brought:1 READY', 'known:3 READY']);
      expect(await load(http, 'known')).toEqual([200, '']);
      expect(await index(http)).toEqual(['brought:1 READY', 'known:1 READY']);
      expect(folders()).toHaveLength(1);

      const config = '{}';
      const content = Buffer.from('x').toString('base64');
      const refused: [Record<string, string>, number, string][] = [
        [{ 'file:1/model.onnx': content }, 400, "Load parameter 'config' must be specified for model file override"],
        [{ config, 'file:1/model.onnx': '*' }, 400, 'must be the bytes of a file in base64'],
        [{ config, 'file:1/model.onnx': content }, 400, 'is not an ONNX model'],
        [{ config, 'file:1/model.mjs': content }, 501, 'the server runs no code that a client sends'],
        [
          {
            config: '{"backend": "tstriton", "default_model_filename": "model"}',
            'file:1/model': Buffer.from(addingModule(1)).toString('base64'),
          },
          400,
          'the server runs no code that a client sends',
        ],
        [{ config, 'file:../x': content }, 400, 'must stay within model directory'],
        [{ config, 'file:/etc/x': content }, 400, 'must stay within model directory'],
        [{ config, 'file:1/..': content }, 400, 'must stay within model directory'],
      ];
      for (const [parameters, status, reason] of refused) {
        const [code, body] = await load(http, 'brought', parameters);
        expect([code, (body as { error: string }).error]).toEqual([status, expect.stringContaining(reason)]);
      }
      expect(await index(http)).toEqual(['brought:1 READY', 'known:1 READY']);
      expect(folders()).toHaveLength(1);

      // Where the files lie is the server's own business.
      const unknown = onnxModel({
        nodes: [node('NoSuchOperator', ['x'], ['y'])],
        inputs: [tensorValue('x', 'float32', [1])],
        outputs: [tensorValue('y', 'float32', [1])],
      }).toString('base64');
      const path = /^(?=.*brought2)(?!.*tstriton-model-)(?!.*\/tmp)/;
      expect(await load(http, 'brought2', { ...given, 'file:1/model.onnx': unknown })).toEqual(failed(path));
      const misnamed = '{"backend": "onnxruntime", "default_model_filename": "none"}';
      expect(await load(http, 'brought2', { ...given, config: misnamed })).toEqual(failed(path));
      const labels = '{"backend": "onnxruntime", "output": [{"name": "c", "dims": [2], "label_filename": "l"}]}';
      expect(await load(http, 'brought2', { config: labels, 'file:1/model.onnx': bytes })).toEqual(failed(path));
      expect((await index(http)).join()).not.toContain('tstriton-model-');
      const long = `brought2${'x'.repeat(300)}`;
      expect(await load(http, long, given)).toEqual(failed(/^ENAMETOOLONG: name too long, mkdir 'brought2x+'$/));
      const refusal = service.call('RepositoryModelLoad', {
        model_name: 'x\0y',
        parameters: { config: { string_param: '{}' }, 'file:1/model.onnx': { bytes_param: addModel() } },
      });
      await expect(refusal).rejects.toMatchObject({
        code: 3,
        details: expect.stringMatching(/^Model name can only contain alphanumeric characters/),
      });
    }
    expect(folders()).toEqual([]);
    await triton.run();
    expect(await index(`http://127.0.0.1:${triton.httpPort}`)).toEqual(['known:1 READY']);
    await triton.stop();
  });
});

describe.each(THREADS)('models in folders that are polled, %o', (thread) => {
  const poll: TritonConfig = { ...thread, modelControlMode: 'poll', repositoryPollSecs: 1_000_000 };

  it('come, change and go without a lost request', async () => {
    const repository = modelRepository({ 'stays/1/model.mjs': addingModule(1), 'goes/1/model.mjs': addingModule(1) });
    await using server = await serve(repository, poll);
    const { http, triton } = server;
    const answers: unknown[] = [];
    let asking = true;
    const client = (async () => {
      while (asking) answers.push(await added(http, 'stays'));
    })();
    const isAnsweredBy = async (version: number) => {
      await expect.poll(() => answers.includes(version)).toBe(true);
    };
    await isAnsweredBy(1);
    repository.write('comes/1/model.mjs', addingModule(5));
    repository.remove('goes');
    repository.write('stays/1/model.mjs', addingModule(2));
    await triton.pollModelRepository();
    expect(await index(http)).toEqual(['comes:1 READY', 'stays:1 READY']);
    expect([await added(http, 'comes'), await added(http, 'stays')]).toEqual([5, 2]);
    await isAnsweredBy(2);
    repository.write('stays/4/model.mjs', addingModule(4));
    await triton.pollModelRepository();
    expect([await index(http), await added(http, 'stays')]).toEqual([['comes:1 READY', 'stays:4 READY'], 4]);
    await isAnsweredBy(4);
    asking = false;
    await client;
    expect(new Set(answers)).toEqual(new Set([1, 2, 4]));
    expect(await load(http, 'stays')).toEqual([
      503,
      { error: 'explicit model load / unload is not allowed if polling is enabled' },
    ]);
  });

  it('serve on when their new state is broken, and are tried again when it changes', async () => {
    const repository = modelRepository({ 'm/1/model.mjs': addingModule(1) });
    await using server = await serve(repository, poll);
    const { http, triton } = server;
    repository.write('m/2/model.mjs', 'throw new Error("no such device")');
    repository.write('n/1/model.mjs', 'throw new Error("no such device")');
    await triton.pollModelRepository();
    expect(await added(http, 'm')).toBe(1);
    const broken = expect.stringMatching(
      / UNAVAILABLE Invalid argument: cannot load the module .*no such device$/,
    ) as string;
    expect(await index(http)).toEqual(['m:1 READY', broken, broken]);
    await triton.pollModelRepository();
    repository.write('m/2/model.mjs', addingModule(2));
    repository.write('n/1/model.mjs', addingModule(3));
    await triton.pollModelRepository();
    expect(await index(http)).toEqual(['m:2 READY', 'n:1 READY']);
    expect([await added(http, 'm'), await added(http, 'n')]).toEqual([2, 3]);
  });

  it('stay when their repository cannot be read for a while', async () => {
    const repository = modelRepository({ 'models/m/1/model.mjs': addingModule(1) });
    await using server = await serve({ ...repository, path: `${repository.path}/models` }, poll);
    repository.remove('models');
    await expect(server.triton.pollModelRepository()).rejects.toThrow('cannot read the model repository');
    expect(await added(server.http, 'm')).toBe(1);
  });
});

describe.each(THREADS)('a client that listens to a stream, %o', (thread) => {
  it('keeps no poll from what follows, neither of its own model nor of others', async () => {
    const streaming = (number: number) => `export default {
  inputs: { x: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
  config: { decoupled: true },
  async *inferFunc(requests) {
    for (;;) {
      yield requests.map(() => ({ y: [[${number}]] }));
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  },
};
`;
    const repository = modelRepository({ 's/1/model.mjs': streaming(1), 'm/1/model.mjs': addingModule(1) });
    await using server = await serve(repository, { ...thread, modelControlMode: 'poll', repositoryPollSecs: 1 });
    const { http } = server;
    const clients = [await openStream(http, 's')];
    const firstOf = async () => {
      await using client = await openStream(http, 's');
      return await client.next();
    };
    for (const number of [2, 3]) {
      repository.write('s/1/model.mjs', streaming(number));
      repository.write('m/1/model.mjs', addingModule(number));
      await expect.poll(firstOf).toBe(number);
      await expect.poll(() => added(http, 'm')).toBe(number);
      clients.push(await openStream(http, 's'));
    }
    // Its own version gives way to the next one, and goes.
    repository.write('s/2/model.mjs', streaming(4));
    await expect.poll(firstOf).toBe(4);
    clients.push(await openStream(http, 's'));
    repository.remove('s');
    await expect.poll(() => index(http)).toEqual(['m:1 READY']);
    repository.write('s/1/model.mjs', streaming(5));
    repository.write('m/1/model.mjs', addingModule(5));
    await expect.poll(firstOf).toBe(5);
    await expect.poll(() => added(http, 'm')).toBe(5);
    expect(await Promise.all(clients.map((client) => client.next()))).toEqual([1, 2, 3, 4]);
    for (const client of clients) await client[Symbol.asyncDispose]();
  });
});

describe('the poll', () => {
  it('is made when its time has passed', async () => {
    const repository = modelRepository({ 'm/1/model.mjs': addingModule(1) });
    await using server = await serve(repository, { modelControlMode: 'poll', repositoryPollSecs: 1 });
    repository.write('m/1/model.mjs', addingModule(2));
    await expect.poll(() => added(server.http, 'm')).toBe(2);
  });

  it('goes on with other models, however many never end to load', async () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    const good = names.map((name) => [`${name}/1/model.mjs`, addingModule(1)] as const);
    const repository = modelRepository({ ...Object.fromEntries(good), 'm/1/model.mjs': addingModule(1) });
    await using server = await serve(repository, { modelControlMode: 'poll', repositoryPollSecs: 1 });
    const mark = join(repository.path, '.begun');
    const endless = `import { appendFileSync } from 'node:fs';
appendFileSync('${mark}', 'x');
await new Promise((resolve) => setTimeout(resolve, 1e8));
${addingModule(2)}`;
    for (const name of names) repository.write(`${name}/1/model.mjs`, endless);
    await expect.poll(() => existsSync(mark)).toBe(true);
    repository.write('m/1/model.mjs', addingModule(2));
    await expect.poll(() => added(server.http, 'm')).toBe(2);
    expect(await added(server.http, 'a')).toBe(1);
  });

  it('waits for a model that adds files to its folder while it loads', async () => {
    const repository = modelRepository();
    const told: string[] = [];
    const ignore = () => undefined;
    const logger = { debug: ignore, info: (line: string) => told.push(line), warn: ignore, error: ignore };
    const release = join(repository.path, '.release');
    repository.write('a/1/model.mjs', addingModule(1));
    await using server = await serve(repository, { modelControlMode: 'poll', repositoryPollSecs: 1, logger });
    repository.write(
      'm/1/model.mjs',
      `import { existsSync, writeFileSync } from 'node:fs';
writeFileSync(new URL('weights', import.meta.url), '');
while (!existsSync('${release}')) await new Promise((resolve) => setTimeout(resolve, 10));
${addingModule(2)}`,
    );
    const line = "the poll leaves out 'm', which still loads; that ends when its files change or its folder is removed";
    await expect.poll(() => told).toContain(line);
    writeFileSync(release, '');
    await expect.poll(() => added(server.http, 'm')).toBe(2);
  });

  it('is refused where nothing is polled', async () => {
    const repository = modelRepository({ 'm/1/model.mjs': addingModule(1) });
    await using server = await serve(repository, { serverThread: false });
    await expect(server.triton.pollModelRepository()).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: 'polling is disabled',
    });
  });
});
