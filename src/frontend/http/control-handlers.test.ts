import { afterEach, describe, expect, it } from 'vitest';

import { inferRequest, RecordingSink, wireTensor } from '../../../test/support/infer-requests.js';
import { ManualInstance } from '../../../test/support/scheduler-harness.js';
import { floats, SharedMemoryObject } from '../../../test/support/shared-memory.js';
import { LogSettingsStore } from '../../core/engine-logger.js';
import { InferenceServer, type InferenceServerOptions } from '../../core/inference-server.js';
import { SharedMemoryRegistry } from '../../core/shared-memory/shared-memory-registry.js';
import { logLine, ServerLogger } from '../../logger.js';
import { completeModelConfig } from '../../model/complete-model.js';
import { REQUEST_LIMITS } from '../../model/request-limits.js';
import { readConfigOverride } from '../../protocol/config-override.js';
import type { Restriction } from '../restricted-features.js';
import { HttpFrontend } from './http-frontend.js';
import { HttpService } from './http-service.js';

const LOGGER = { error: () => undefined, warn: () => undefined, info: () => undefined, verbose: () => undefined };

const opened: HttpFrontend[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((frontend) => frontend.close()));
});

/** A server with the models `m` and `n`, of which `m` is loaded. */
async function start(options: Partial<InferenceServerOptions> = {}, restrictions: readonly Restriction[] = []) {
  const server = new InferenceServer({
    name: 'triton',
    version: '1',
    logger: LOGGER,
    modelControlMode: 'explicit',
    readOverride: async (config) => readConfigOverride(config),
    ...options,
  });
  const instance = new ManualInstance();
  for (const modelName of ['m', 'n']) {
    const tensor = { dtype: 'float32', shape: [1] } as const;
    server.models.bind({
      config: completeModelConfig({ modelName, inputs: { x: tensor }, outputs: { y: tensor } }, 1),
      open: () => ({ instances: [instance] }),
    });
  }
  await server.models.loadVersion('m', 1);
  server.started();
  const frontend = new HttpFrontend(new HttpService({ server, maxInputSize: 1 << 26, restrictions }), {
    address: '127.0.0.1',
    port: 0,
    logger: LOGGER,
  });
  opened.push(frontend);
  const port = await frontend.start();
  /** `status content-type body` */
  const call = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const text = body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, body: text, headers });
    return `${answer.status} ${answer.headers.get('content-type')} ${await answer.text()}`;
  };
  return { server, instance, call, url: `http://127.0.0.1:${port}` };
}

const OK = '200 application/json';

function error(status: number, message: string): string {
  return `${status} application/json ${JSON.stringify({ error: message })}`;
}

describe('trace settings', () => {
  const settings = (rate: string, count = '-1') =>
    `${OK} {"trace_level":["OFF"],"trace_rate":"${rate}","trace_count":"${count}","log_frequency":"0","trace_file":"","trace_mode":"triton"}`;

  it('are read and changed, for the server and for a model', async () => {
    const { call } = await start();
    expect(await call('GET', '/v2/trace/setting')).toBe(settings('1000'));
    expect(await call('POST', '/v2/models/m/trace/setting', { trace_rate: '9' })).toBe(settings('9'));
    expect(await call('POST', '/v2/trace/setting', { trace_rate: '5', trace_count: '2' })).toBe(settings('5', '2'));
    expect(await call('GET', '/v2/models/m/trace/setting')).toBe(settings('9', '2'));
    expect(await call('POST', '/v2/models/m/trace/setting', { trace_rate: null })).toBe(settings('5', '2'));
  });

  it.each<[string, unknown, string]>([
    [
      'for levels that nothing is written for',
      { trace_level: ['TIMESTAMPS'] },
      error(400, 'Attempting to set invalid trace setting :trace file name is not given'),
    ],
    ['for a file', { trace_file: 'f' }, error(501, 'trace file location can not be updated through network protocol')],
    ['for a rate that is no text', { trace_rate: 5 }, error(400, 'attempt to access JSON non-string as string')],
    ['for levels that are no list', { trace_level: 'OFF' }, error(400, 'attempt to access JSON non-array as array')],
    [
      'for a count below -1',
      { trace_count: '-2' },
      error(400, "Unable to parse 'trace_count'. Expecting value >= -1, got:-2"),
    ],
    ['without a body', '', error(400, 'failed to parse the request JSON buffer: The document is empty. at 0')],
  ])('are refused %s', async (_, body, expected) => {
    const { call } = await start();
    expect(await call('POST', '/v2/trace/setting', body)).toBe(expected);
    expect(await call('GET', '/v2/trace/setting')).toBe(settings('1000'));
  });

  it.each(['nope', 'n'])('are there for ready models only, not for %s', async (name) => {
    const { call } = await start();
    expect(await call('GET', `/v2/models/${name}/trace/setting`)).toBe(
      error(400, `Request for unknown model : ${name}`),
    );
  });
});

describe('log settings', () => {
  function log() {
    const lines: string[] = [];
    const logger = new ServerLogger({ write: (entry) => void lines.push(logLine(entry)) });
    return { lines, logger, logSettings: new LogSettingsStore(logger, 'server.log', () => undefined) };
  }

  it('change what the server writes', async () => {
    const { lines, logger, logSettings } = log();
    const { call } = await start({ logSettings });
    expect(await call('GET', '/v2/logging')).toBe(
      `${OK} {"log_file":"server.log","log_info":true,"log_warning":true,"log_error":true,"log_verbose_level":0,"log_format":"default"}`,
    );
    expect(await call('POST', '/v2/logging', { log_info: false, log_verbose_level: 1, log_format: 'ISO8601' })).toBe(
      `${OK} {"log_file":"server.log","log_info":false,"log_warning":true,"log_error":true,"log_verbose_level":1,"log_format":"ISO8601"}`,
    );
    logger.info('unseen');
    logger.verbose(1, 'seen');
    expect(lines).toEqual([expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ I \d+\] seen\n$/)]);
  });

  it.each<[string, unknown, string]>([
    [
      'a format that is none',
      { log_info: false, log_format: 'x' },
      error(503, 'invalid argument for --log_format, got: x'),
    ],
    ['a file', { log_file: 'x' }, error(501, 'log file location can not be updated through network protocol')],
    ['a text for a boolean', { log_info: 'no' }, error(400, 'attempt to access JSON non-boolean as boolean')],
    [
      'a negative level',
      { log_verbose_level: -1 },
      error(400, 'attempt to access JSON non-unsigned-integer as unsigned-integer'),
    ],
    [
      'a level beyond all',
      { log_verbose_level: 4294967296 },
      error(400, "Unable to parse 'log_verbose_level', value is out of range [ 0, 2147483647 ], got: 4294967296"),
    ],
  ])('stay as they are with %s', async (_, body, expected) => {
    const { logSettings } = log();
    const { call } = await start({ logSettings });
    expect(await call('POST', '/v2/logging', body)).toBe(expected);
    expect(logSettings.get().info).toBe(true);
  });
});

describe('the model repository', () => {
  it('lists, loads and unloads models', async () => {
    const { call } = await start();
    expect(await call('POST', '/v2/repository/index')).toBe(
      `${OK} [{"name":"m","version":"1","state":"READY"},{"name":"n"}]`,
    );
    expect(await call('POST', '/v2/repository/models/n/load')).toBe(`${OK} `);
    expect(await call('POST', '/v2/repository/models/m/unload', { parameters: { unload_dependents: true } })).toBe(
      `${OK} `,
    );
    expect(await call('POST', '/v2/repository/any/index', { ready: false })).toBe(
      `${OK} [{"name":"m","version":"1","state":"UNAVAILABLE","reason":"unloaded"},{"name":"n","version":"1","state":"READY"}]`,
    );
    expect(await call('POST', '/v2/repository/index', { ready: true })).toBe(
      `${OK} [{"name":"n","version":"1","state":"READY"}]`,
    );
    expect(await call('GET', '/v2/models/m')).toBe(
      error(404, "Request for unknown model: 'm' has no available versions"),
    );
    expect(await call('GET', '/v2/health/ready')).toBe('200 text/plain ');
  });

  it.each<[string, string, unknown, string]>([
    [
      'an unknown model',
      'models/nope/load',
      undefined,
      error(400, "failed to load 'nope', failed to poll from model repository"),
    ],
    [
      'a file',
      'models/n/load',
      { parameters: { config: '{}', 'file:1/model.py': 'cHJpbnQoMSkK' } },
      error(501, "load parameter 'file:1/model.py' is not supported: model 'n' is what was bound under that name"),
    ],
    [
      'a configuration that is none',
      'models/n/load',
      { parameters: { config: '{"name":"other"}' } },
      error(400, "Invalid config override: it is for model 'other', expected 'n'"),
    ],
    [
      'an unknown parameter',
      'models/n/load',
      { parameters: { foo: 'x' } },
      error(400, "unrecognized load parameter 'foo'."),
    ],
    [
      'a parameter that is no text',
      'models/n/load',
      { parameters: { config: {} } },
      error(400, 'attempt to access JSON non-string as string'),
    ],
    [
      'parameters that are a list',
      'models/n/load',
      { parameters: [] },
      error(400, 'attempt to get members for non-object'),
    ],
    ['a repository', 'r/models/n/load', undefined, error(501, "'repository_name' specification is not supported")],
    ['a repository', 'r/models/n/unload', undefined, error(501, "'repository_name' specification is not supported")],
    ['an index of no boolean', 'index', { ready: 1 }, error(400, 'attempt to access JSON non-boolean as boolean')],
  ])('refuses %s (%s)', async (_, path, body, expected) => {
    const { call } = await start();
    expect(await call('POST', `/v2/repository/${path}`, body)).toBe(expected);
  });

  it('is not for clients to change unless the server says so', async () => {
    const { call } = await start({ modelControlMode: 'none' });
    const refused = error(503, 'explicit model load / unload is not allowed if polling is enabled');
    expect(await call('POST', '/v2/repository/models/n/load')).toBe(refused);
    expect(await call('POST', '/v2/repository/models/m/unload')).toBe(refused);
  });

  it('answers a load when the model is there, and an unload at once', async () => {
    const { server, instance, call } = await start();
    const sink = new RecordingSink();
    const x = wireTensor('x', 'float32', Float32Array.of(1), [1, 1]);
    server.infer(inferRequest({ inputs: [x] }), sink);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await call('POST', '/v2/repository/models/m/unload')).toBe(`${OK} `);
    expect(await call('POST', '/v2/repository/index')).toContain('"state":"UNLOADING"');
    expect(await call('POST', '/v2/repository/models/m/load')).toBe(`${OK} `);
    expect(await call('POST', '/v2/repository/index')).toContain('"state":"READY"');
    expect(sink.outcome).toBeUndefined();
    instance.last.finish();
    await sink.ended;
    expect(sink.outcome).toBe('ok');
  });
});

describe('shared memory', () => {
  const allowed = () => new SharedMemoryRegistry({ allowed: true });

  it('is registered, told and unregistered', async () => {
    const { key } = new SharedMemoryObject(8192);
    const { call } = await start({ sharedMemory: allowed() });
    expect(await call('POST', '/v2/systemsharedmemory/region/r/register', { key, offset: 4096, byte_size: 64 })).toBe(
      `${OK} `,
    );
    const status = `${OK} [{"name":"r","key":"${key}","offset":4096,"byte_size":64}]`;
    expect(await call('GET', '/v2/systemsharedmemory/status')).toBe(status);
    expect(await call('GET', '/v2/systemsharedmemory/region/r/status')).toBe(status);
    expect(await call('POST', '/v2/systemsharedmemory/region/r/unregister')).toBe(`${OK} `);
    expect(await call('POST', '/v2/systemsharedmemory/unregister')).toBe(`${OK} `);
    expect(await call('GET', '/v2/systemsharedmemory/region/r/status')).toBe(
      error(404, "Unable to find system shared memory region: 'r'"),
    );
  });

  it.each<[string, string, unknown, string]>([
    ['without a key', 'region/r/register', {}, error(400, "Shared memory register request has no 'key' field")],
    [
      'without a size',
      'region/r/register',
      { key: '/x' },
      error(400, "Shared memory register request has no 'byte_size' field"),
    ],
    [
      'without a region',
      'register',
      { key: '/x', byte_size: 8 },
      error(400, "'region name' is necessary to register system shared memory region"),
    ],
    [
      'of an object that is not there',
      'region/r/register',
      { key: '/tstriton_no_such', byte_size: 8 },
      error(400, "Unable to open shared memory region: '/tstriton_no_such'"),
    ],
  ])('is refused %s', async (_, path, body, expected) => {
    const { call } = await start({ sharedMemory: allowed() });
    expect(await call('POST', `/v2/systemsharedmemory/${path}`, body)).toBe(expected);
  });

  it('is not for clients unless the server says so', async () => {
    const { server, call } = await start();
    const refused = error(
      501,
      "Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable.",
    );
    expect(await call('POST', '/v2/systemsharedmemory/region/r/register', { key: '/x', byte_size: 8 })).toBe(refused);
    expect(await call('POST', '/v2/systemsharedmemory/unregister')).toBe(refused);
    expect(await call('GET', '/v2/systemsharedmemory/status')).toBe(`${OK} []`);
    expect(server.extensions).not.toContain('system_shared_memory');
  });

  it('of GPUs is none', async () => {
    const { call } = await start();
    expect(await call('GET', '/v2/cudasharedmemory/status')).toBe(`${OK} []`);
    expect(await call('GET', '/v2/cudasharedmemory/region/r/status')).toBe(
      error(404, "Unable to find cuda shared memory region: 'r'"),
    );
    expect(await call('POST', '/v2/cudasharedmemory/region/r/register', {})).toBe(
      error(501, "failed to register CUDA shared memory region: 'r', GPUs not supported"),
    );
    expect(await call('POST', '/v2/cudasharedmemory/unregister')).toBe(`${OK} `);
  });

  it('holds inputs and outputs, and is let go of when the request has ended', async () => {
    const object = new SharedMemoryObject(4096, floats(3));
    const { server, instance, call } = await start({ sharedMemory: allowed() });
    server.sharedMemory.register({ name: 'r', key: object.key, offset: 0, byteSize: 4096 });
    const place = (offset: number, size: number) => ({
      shared_memory_region: 'r',
      shared_memory_offset: offset,
      shared_memory_byte_size: size,
    });
    const infer = (size: number) =>
      call('POST', '/v2/models/m/infer', {
        inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1], parameters: place(0, 4) }],
        outputs: [{ name: 'y', parameters: place(64, size) }],
      });
    const finish = async (runs: number) => {
      while (instance.executions.length < runs) await new Promise((resolve) => setImmediate(resolve));
      const { batch, done } = instance.last;
      const outputs = [{ ...batch[0]!.inputs[0]!, name: 'y' }];
      done([{ kind: 'outputs', outputs, parameters: undefined }], {
        computeInput: 0,
        computeInfer: 0,
        computeOutput: 0,
      });
    };
    const answer = infer(16);
    await finish(1);
    expect(await answer).toBe(
      `${OK} {"model_name":"m","model_version":"1","outputs":[{"name":"y","datatype":"FP32","shape":[1,1]}]}`,
    );
    expect(object.read().subarray(64, 80)).toEqual(Buffer.concat([floats(3), Buffer.alloc(12)]));
    const tooSmall = infer(2);
    await finish(2);
    expect(await tooSmall).toBe(
      error(
        400,
        "shared memory size specified with the request for output 'y' (2 bytes) should be at least 4 bytes to hold the results",
      ),
    );
    // Refused after its input was found.
    expect(await infer(8192)).toBe(error(400, "Invalid offset + byte size for shared memory region: 'r'"));
    server.sharedMemory.unregisterAll();
    expect(server.sharedMemory.regions()).toEqual([]);
  });
});

describe('a load', () => {
  it('of a blank name is refused in the words for an empty one', async () => {
    const { call } = await start();
    const refused = error(400, 'Model name cannot be empty. Please enter a valid name to deploy.');
    expect(await call('POST', '/v2/repository/models/%20%09/load')).toBe(refused);
  });

  it('whose client leaves counts its bytes until it ends', async () => {
    const counted: number[] = [];
    let end!: (isThere: boolean) => void;
    const folder = new Promise<boolean>((resolve) => (end = resolve));
    let begin!: () => void;
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const load = () => {
      begin();
      return folder;
    };
    const folders = { names: () => [], load };
    const { url } = await start({ folders, countLeft: (bytes) => void counted.push(bytes) });
    const body = JSON.stringify({ parameters: { config: '{}', 'file:1/model.onnx': 'A'.repeat(1 << 21) } });
    const leaving = new AbortController();
    const path = `${url}/v2/repository/models/brought/load`;
    const answer = fetch(path, { method: 'POST', body, signal: leaving.signal });
    await begun;
    expect(counted).toEqual([]);
    leaving.abort();
    await expect(answer).rejects.toMatchObject({ name: 'AbortError' });
    await expect.poll(() => counted).toEqual([body.length]);
    end(true);
    await expect.poll(() => counted).toEqual([body.length, -body.length]);
    // A client that waits is counted with its request.
    expect((await fetch(path, { method: 'POST', body })).status).toBe(200);
    expect(counted).toHaveLength(2);
  });
});

describe('a body', () => {
  const MEMBERS = REQUEST_LIMITS.controlFields;
  const unknown = (count: number) => `{${Array.from({ length: count }, (_, i) => `"x${i}":[[]]`).join()}}`;

  it.each<[string, string, string, string]>([
    [
      'larger than such bodies are',
      'trace/setting',
      ' '.repeat(REQUEST_LIMITS.controlBytes + 1),
      error(400, 'request size of 1048577 bytes exceeds the maximum allowed input size of 1048576 bytes'),
    ],
    [
      'with many members',
      'logging',
      unknown(MEMBERS + 1),
      error(400, `expected a request with at most ${MEMBERS} members, got more`),
    ],
    [
      'with many parameters',
      'repository/models/n/load',
      `{"parameters":${unknown(MEMBERS + 1)}}`,
      error(400, `expected a request with at most ${MEMBERS} members, got more`),
    ],
    [
      'with many levels for traces',
      'trace/setting',
      `{"trace_level":[${Array.from({ length: MEMBERS + 1 }, () => '""').join()}]}`,
      error(400, `expected a request with at most ${MEMBERS} trace levels, got more`),
    ],
  ])('%s is refused', async (_, path, body, expected) => {
    const { call } = await start();
    expect(await call('POST', `/v2/${path}`, body)).toBe(expected);
  });

  it('may have members that nobody knows', async () => {
    const { call } = await start();
    expect(await call('POST', '/v2/trace/setting', unknown(MEMBERS))).toContain(OK);
  });

  it('may have a long text where any is read', async () => {
    const { call } = await start({ sharedMemory: new SharedMemoryRegistry({ allowed: true }) });
    const key = `/${'k'.repeat(100_000)}`;
    expect(await call('POST', '/v2/systemsharedmemory/region/r/register', { key, byte_size: 8 })).toBe(
      error(400, `Unable to open shared memory region: '${key}'`),
    );
  });
});

describe('a restricted API', () => {
  const restrictions: Restriction[] = [{ categories: ['logging', 'health'], key: 'Admin-Key', value: 'secret' }];
  const refused = error(403, "This API is restricted, expecting header 'Admin-Key'");

  it('wants its header, with exactly its value', async () => {
    const { call } = await start({}, restrictions);
    expect(await call('GET', '/v2/logging')).toBe(refused);
    expect(await call('GET', '/v2/logging', undefined, { 'admin-key': 'Secret' })).toBe(refused);
    expect(await call('GET', '/v2/logging', undefined, { 'ADMIN-KEY': 'secret' })).toMatch(/^200 /);
    expect(await call('GET', '/v2/health/live')).toBe(refused);
    expect(await call('GET', '/v2/models/m/ready')).toBe(refused);
    expect(await call('GET', '/v2')).toMatch(/^200 /);
  });

  it('tells nobody else which methods it has', async () => {
    const { call } = await start({}, restrictions);
    expect(await call('DELETE', '/v2/logging')).toBe(refused);
    expect(await call('DELETE', '/v2/logging', undefined, { 'admin-key': 'secret' })).toBe(
      error(405, 'Method Not Allowed'),
    );
  });
});
