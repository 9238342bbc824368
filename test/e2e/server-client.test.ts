// The client of a server as a whole: both protocols give the same answers.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { defineModel, type Triton } from 'tstriton';
import { ServerClient, TritonConnectionError, TritonTimeoutError } from 'tstriton/client';

import { CLIENT_KINDS, CLIENTS } from '../support/clients.js';
import { FREE_PORTS, type RunningServer } from '../support/start-server.js';

const double = defineModel({
  modelName: 'Double',
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
  config: { maxBatchSize: 8, batcher: { maxQueueDelayMicroseconds: 5 } },
});

function bindModels(triton: Triton): void {
  triton.bind({ ...double, inferFunc: (requests) => requests });
}

const OPEN = {
  modelControlMode: 'explicit',
  loadModel: '*',
  restrictedEndpoints: [],
  allowClientShm: true,
} as const;

describe.each(CLIENT_KINDS)('ServerClient over %s', (kind) => {
  const { ModelClient, ServerClient, protocol, at, start } = CLIENTS[kind];
  let server: RunningServer;
  let client: ServerClient;

  beforeAll(async () => {
    server = await start(bindModels, OPEN);
    client = new ServerClient(at(server));
  });
  afterAll(async () => {
    await client.close();
    await server[Symbol.asyncDispose]();
  });

  it('knows whether the server and its models are ready', async () => {
    expect(await client.isLive()).toBe(true);
    expect(await client.isReady()).toBe(true);
    expect(await client.isModelReady('Double')).toBe(true);
    expect(await client.isModelReady('Double', { modelVersion: 1 })).toBe(true);
    expect(await client.isModelReady('Double', { modelVersion: 7 })).toBe(false);
    expect(await client.isModelReady('Nope')).toBe(false);
    await client.waitForReady({ timeoutMs: 5000 });
    await client.waitForReady({ timeoutMs: 5000, model: 'Double' });
  });

  it('describes the server and its models', async () => {
    const metadata = await client.metadata();
    expect(metadata.name).toBe('triton');
    expect(metadata.extensions).toContain('statistics');
    expect(await client.modelMetadata('Double')).toEqual({
      name: 'Double',
      versions: ['1'],
      platform: expect.any(String) as string,
      inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, -1] }],
      outputs: [{ name: 'y', datatype: 'FP32', shape: [-1, -1] }],
    });
    const config = await client.modelConfig('Double');
    expect(config).toMatchObject({
      name: 'Double',
      maxBatchSize: 8,
      input: [{ name: 'x', dataType: 'TYPE_FP32', dims: [-1] }],
      output: [{ name: 'y', dataType: 'TYPE_FP32', dims: [-1] }],
      dynamicBatching: { maxQueueDelayMicroseconds: 5 },
    });
    await expect(client.modelMetadata('Nope')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('counts what was inferred', async () => {
    await using model = new ModelClient(at(server), double);
    const before = (await client.statistics('Double'))[0]!;
    await model.inferBatch({ x: [[1], [2]] });
    const after = (await client.statistics('Double', { modelVersion: 1 }))[0]!;
    expect(after).toMatchObject({ name: 'Double', version: '1' });
    expect(after.inferenceCount - before.inferenceCount).toBe(2);
    expect(after.inferenceStats.success.count - before.inferenceStats.success.count).toBe(1);
    expect(await client.statistics()).toHaveLength(1);
  });

  it('lists, loads and unloads models', async () => {
    await using own = await start(bindModels, OPEN);
    await using control = new ServerClient(at(own));
    const ready = { name: 'Double', version: '1', state: 'READY', reason: '' };
    expect(await control.repositoryIndex()).toEqual([ready]);
    await control.unloadModel('Double', { unloadDependents: true });
    await expect.poll(() => control.repositoryIndex({ ready: true })).toEqual([]);
    expect(await control.isModelReady('Double')).toBe(false);
    await control.loadModel('Double', { config: { max_batch_size: 4 } });
    expect(await control.repositoryIndex({ ready: true })).toEqual([ready]);
    expect((await control.modelConfig('Double')).maxBatchSize).toBe(4);
    await expect(control.loadModel('Nope')).rejects.toMatchObject({ code: 'INVALID_ARG' });
  });

  it('reads and changes settings of traces and the log', async () => {
    const before = await client.traceSettings();
    expect(before).toMatchObject({ level: ['OFF'], mode: expect.any(String) as string });
    expect(await client.updateTraceSettings({ rate: 7, count: 3 })).toMatchObject({ rate: 7, count: 3 });
    expect(await client.traceSettings({ model: 'Double' })).toMatchObject({ rate: 7 });
    expect(await client.updateTraceSettings({ rate: 9 }, { model: 'Double' })).toMatchObject({ rate: 9 });
    expect(await client.updateTraceSettings({ rate: null }, { model: 'Double' })).toMatchObject({ rate: 7 });
    const log = await client.logSettings();
    expect(log).toMatchObject({ info: true, verboseLevel: 0, format: 'default' });
    expect(await client.updateLogSettings({ info: false, verboseLevel: 0, format: 'ISO8601' })).toEqual({
      ...log,
      info: false,
      format: 'ISO8601',
    });
    await expect(client.updateLogSettings({ infos: true } as never)).rejects.toThrow("did you mean 'info'?");
  });

  it('shows shared memory, and refuses what cannot be registered', async () => {
    expect(await client.systemSharedMemory()).toEqual([]);
    const region = { name: 'r', key: '/tstriton-there-is-none', byteSize: 16 };
    await expect(client.registerSystemSharedMemory(region)).rejects.toMatchObject({ code: 'INVALID_ARG' });
    await client.unregisterSystemSharedMemory('r');
    await client.unregisterSystemSharedMemory();
    await expect(client.systemSharedMemory('r')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it.each([
    [{ byteSize: 1.5 }, 'byteSize of a region of shared memory must be an integer >= 0, got 1.5'],
    [{ byteSize: undefined }, 'byteSize of a region of shared memory must be an integer >= 0, got undefined'],
    [{ offset: -1 }, 'offset of a region of shared memory must be an integer >= 0, got -1'],
    [{ key: 5 }, 'key of a region of shared memory must be a string, got 5'],
    [{ bytesize: 4 }, "a region of shared memory has an unknown option 'bytesize'; did you mean 'byteSize'?"],
  ])('refuses shared memory with %j', async (wrong, message) => {
    const region = { name: 'r', key: '/r', byteSize: 16, ...wrong } as never;
    await expect(client.registerSystemSharedMemory(region)).rejects.toMatchObject({ code: 'INVALID_ARG', message });
  });

  it.skipIf(kind === 'in-process')('sends its token with every request, and is refused without', async () => {
    const all = ['health', 'metadata', 'model-config', 'statistics', 'inference', 'model-repository'] as const;
    const accessToken = 'let me in';
    await using own = await start(bindModels, { restrictedEndpoints: [...all], accessToken });
    await using stranger = new ServerClient(at(own));
    await using friend = new ServerClient(at(own), { accessToken });
    await using model = new ModelClient(at(own), 'Double', { accessToken });
    for (const refused of [stranger.isReady(), stranger.metadata(), stranger.waitForReady({ timeoutMs: 30_000 })])
      await expect(refused).rejects.toThrow('restricted');
    expect(await friend.isReady()).toBe(true);
    await friend.waitForReady({ timeoutMs: 60_000, model: 'Double' });
    expect(await friend.statistics()).toHaveLength(1);
    expect((await model.inferSample([1]))['y']!.data[0]).toBe(1);
  });

  it.skipIf(kind === 'in-process')('waits for a server that is not there yet', async () => {
    await using first = await start(bindModels, OPEN);
    const port = protocol === 'http' ? first.triton.httpPort! : first.triton.grpcPort!;
    await first.triton.stop();
    await using waiting = new ServerClient(`${protocol}://127.0.0.1:${port}`);
    await expect(waiting.isReady()).rejects.toSatisfy(
      (error) => TritonConnectionError.is(error) && !error.requestSent && error.code === 'UNAVAILABLE',
    );
    const ready = waiting.waitForReady({ timeoutMs: 60_000, model: 'Double' });
    const ports = { ...FREE_PORTS, [protocol === 'http' ? 'httpPort' : 'grpcPort']: port };
    await using second = await start(bindModels, { ...OPEN, ...ports });
    await ready;
    expect(second.triton.isReady).toBeDefined();
  });

  it.skipIf(kind === 'in-process')('says at its deadline what was the matter', async () => {
    await using own = new ServerClient(`${protocol}://127.0.0.1:2`);
    const waiting = own.waitForReady({ timeoutMs: 100 });
    await expect(waiting).rejects.toThrow(/^deadline of 100 ms exceeded for the server at .* to be ready: .*refused$/);
    await expect(waiting).rejects.toSatisfy(
      (error) => TritonTimeoutError.is(error) && error.code === 'DEADLINE_EXCEEDED',
    );
    await using other = new ServerClient(at(server));
    await expect(other.waitForReady({ timeoutMs: 100, model: 'Nope' })).rejects.toThrow(
      "exceeded for model 'Nope' of the server at",
    );
    await other.close();
    await expect(other.isLive()).rejects.toMatchObject({ code: 'UNAVAILABLE', message: 'ServerClient is closed' });
  });
});

describe('the token of a client', () => {
  it('is refused when it is empty, cannot be sent, or is another than that of the headers', () => {
    expect(() => new ServerClient('localhost', { accessToken: '' })).toThrow('accessToken cannot be empty');
    expect(() => new ServerClient('localhost', { accessToken: 'of a file\n' })).toThrow(
      'accessToken has characters that headers cannot have, such as the end of a line',
    );
    const headers = { 'Triton-Access-Token': 'b' };
    expect(() => new ServerClient('localhost', { accessToken: 'a', headers })).toThrow(
      "accessToken and header 'triton-access-token' differ, expected one of them",
    );
  });
});
