import { create, type DescMessage, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { ManualInstance } from '../../../test/support/scheduler-harness.js';
import { SharedMemoryObject } from '../../../test/support/shared-memory.js';
import { LogSettingsStore } from '../../core/engine-logger.js';
import { InferenceServer, type InferenceServerOptions } from '../../core/inference-server.js';
import { SharedMemoryRegistry } from '../../core/shared-memory/shared-memory-registry.js';
import type { TritonError } from '../../errors.js';
import { ServerLogger } from '../../logger.js';
import { completeModelConfig } from '../../model/complete-model.js';
import { readConfigOverride } from '../../protocol/config-override.js';
import { GRPCInferenceService } from '../../../test/support/generated/grpc_service_pb.js';
import { MESSAGE_PREFIX_BYTES } from '../../protocol/grpc/message-frame.js';
import { controlMethods } from './control-methods.js';
import { callHead } from './grpc-call.js';
import type { UnaryMethod } from './unary-call.js';

const LOGGER = { error: () => undefined, warn: () => undefined, info: () => undefined, verbose: () => undefined };
const NO_HEADERS = callHead({ path: '', header: () => undefined, rawHeaders: [] });

type Methods = typeof GRPCInferenceService.method;
type Control = Exclude<keyof Methods, 'modelStreamInfer'>;

/** A server with the models `m` and `n`, of which `m` is loaded. */
async function start(options: Partial<InferenceServerOptions> = {}) {
  const server = new InferenceServer({
    name: 'triton',
    version: '1',
    logger: LOGGER,
    modelControlMode: 'explicit',
    readOverride: async (config) => readConfigOverride(config),
    ...options,
  });
  for (const modelName of ['m', 'n']) {
    server.models.bind({
      config: completeModelConfig({ modelName, inputs: {}, outputs: {} }, 1),
      open: () => ({ instances: [new ManualInstance()] }),
    });
  }
  await server.models.loadVersion('m', 1);
  server.started();
  const methods: Readonly<Record<string, UnaryMethod>> = controlMethods(server);
  const send = async (name: Control, message: Uint8Array) => {
    const { name: served, output } = GRPCInferenceService.method[name];
    return new Promise<Record<string, unknown>>((resolve, reject) => {
      const succeed = (frame: readonly Uint8Array[]) => {
        const bytes = Buffer.concat(frame).subarray(MESSAGE_PREFIX_BYTES);
        resolve(fromBinary(output as DescMessage, bytes) as unknown as Record<string, unknown>);
      };
      methods[served]!.serve(Buffer.from(message), { succeed, fail: reject }, NO_HEADERS);
    });
  };
  const call = async <Name extends Control>(name: Name, request: MessageInitShape<Methods[Name]['input']>) => {
    const schema: DescMessage = GRPCInferenceService.method[name].input;
    return send(name, toBinary(schema, create(schema, request as never)));
  };
  return { server, call, send, methods };
}

function refused(code: TritonError['code'], message: string) {
  return expect.objectContaining({ code, message });
}

describe('a load whose client leaves', () => {
  it('counts its bytes until it ends', async () => {
    const counted: number[] = [];
    let end!: (isThere: boolean) => void;
    const load = () => new Promise<boolean>((resolve) => (end = resolve));
    const { methods } = await start({
      folders: { names: () => [], load },
      countLeft: (bytes) => void counted.push(bytes),
    });
    const schema: DescMessage = GRPCInferenceService.method.repositoryModelLoad.input;
    const message = Buffer.from(toBinary(schema, create(schema, { modelName: 'brought' } as never)));
    const answered = new Promise((succeed, fail) => {
      const inflight = methods['RepositoryModelLoad']!.serve(message, { succeed, fail }, NO_HEADERS);
      inflight!.cancel();
    });
    expect(counted).toEqual([message.length]);
    end(true);
    await answered;
    await expect.poll(() => counted).toEqual([message.length, -message.length]);
  });
});

describe('the model repository', () => {
  it('lists, loads and unloads models', async () => {
    const { call } = await start();
    const index = async (ready: boolean) =>
      ((await call('repositoryIndex', { ready }))['models'] as Record<string, string>[]).map(
        ({ name, version, state, reason }) => [name, version, state, reason].join(' ').trim(),
      );
    expect(await index(false)).toEqual(['m 1 READY', 'n']);
    await call('repositoryModelLoad', { modelName: 'n' });
    const dependents = { parameterChoice: { case: 'boolParam', value: true } } as const;
    await call('repositoryModelUnload', { modelName: 'm', parameters: { unload_dependents: dependents } });
    await new Promise((resolve) => setImmediate(resolve));
    expect(await index(false)).toEqual(['m 1 UNAVAILABLE unloaded', 'n 1 READY']);
    expect(await index(true)).toEqual(['n 1 READY']);
  });

  const text = { parameterChoice: { case: 'stringParam', value: '{}' } } as const;
  const bytes = { parameterChoice: { case: 'bytesParam', value: new Uint8Array(1) } } as const;

  it.each<
    [string, 'repositoryIndex' | 'repositoryModelLoad' | 'repositoryModelUnload', object, TritonError['code'], string]
  >([
    [
      'an unknown model',
      'repositoryModelLoad',
      { modelName: 'nope' },
      'INVALID_ARG',
      "failed to load 'nope', failed to poll from model repository",
    ],
    [
      'no name',
      'repositoryModelLoad',
      {},
      'INVALID_ARG',
      'Model name cannot be empty. Please enter a valid name to deploy.',
    ],
    [
      'a path for a name',
      'repositoryModelLoad',
      { modelName: '../n' },
      'INVALID_ARG',
      "invalid model name '../n', model name must not contain path traversal characters",
    ],
    [
      'a file',
      'repositoryModelLoad',
      { modelName: 'n', parameters: { config: text, 'file:1/x': bytes } },
      'UNSUPPORTED',
      "load parameter 'file:1/x' is not supported: model 'n' is what was bound under that name",
    ],
    [
      'a configuration that is none',
      'repositoryModelLoad',
      {
        modelName: 'n',
        parameters: { config: { parameterChoice: { case: 'stringParam', value: '{"name":"other"}' } } },
      },
      'INVALID_ARG',
      "Invalid config override: it is for model 'other', expected 'n'",
    ],
    [
      'a configuration in bytes',
      'repositoryModelLoad',
      { modelName: 'n', parameters: { config: bytes } },
      'INVALID_ARG',
      "invalid value type for load parameter 'config', expected string_param.",
    ],
    [
      'a file in a text',
      'repositoryModelLoad',
      { modelName: 'n', parameters: { 'file:1/x': text } },
      'INVALID_ARG',
      "invalid value type for load parameter 'file:1/x', expected bytes_param.",
    ],
    [
      'an unknown parameter',
      'repositoryModelLoad',
      { modelName: 'n', parameters: { colour: text } },
      'INVALID_ARG',
      "unrecognized load parameter 'colour'.",
    ],
    [
      'dependents in a text',
      'repositoryModelUnload',
      { modelName: 'n', parameters: { unload_dependents: text } },
      'INVALID_ARG',
      "invalid value type for 'unload_dependents' parameter, expected bool_param.",
    ],
    ...(['repositoryIndex', 'repositoryModelLoad', 'repositoryModelUnload'] as const).map(
      (name) =>
        [
          'a repository',
          name,
          { repositoryName: 'r' },
          'UNSUPPORTED',
          "'repository_name' specification is not supported",
        ] as [string, typeof name, object, 'UNSUPPORTED', string],
    ),
  ])('refuses %s (%s)', async (_, name, request, code, message) => {
    const { call } = await start();
    await expect(call(name, request)).rejects.toEqual(refused(code, message));
  });
});

describe('trace settings', () => {
  const rate = (...value: string[]) => ({ settings: { trace_rate: { value } } });
  const read = (response: Record<string, unknown>) =>
    Object.fromEntries(
      Object.entries(response['settings'] as Record<string, { value: string[] }>).map(([name, { value }]) => [
        name,
        value,
      ]),
    );
  const DEFAULTS = {
    trace_level: ['OFF'],
    trace_rate: ['1000'],
    trace_count: ['-1'],
    log_frequency: ['0'],
    trace_file: [''],
    trace_mode: ['triton'],
  };

  it('are read, changed and cleared, for the server and for a model', async () => {
    const { call } = await start();
    expect(read(await call('traceSetting', {}))).toEqual(DEFAULTS);
    expect(read(await call('traceSetting', { ...rate('9'), modelName: 'm' }))).toEqual({
      ...DEFAULTS,
      trace_rate: ['9'],
    });
    expect(read(await call('traceSetting', rate('5')))).toEqual({ ...DEFAULTS, trace_rate: ['5'] });
    expect(read(await call('traceSetting', { modelName: 'm' }))['trace_rate']).toEqual(['9']);
    expect(read(await call('traceSetting', { ...rate(), modelName: 'm' }))['trace_rate']).toEqual(['5']);
  });

  it.each<[string, object, TritonError['code'], string]>([
    ['two rates', rate('1', '2'), 'INVALID_ARG', "expect only 1 value for 'trace_rate'"],
    [
      'a count below -1',
      { settings: { trace_count: { value: ['-2'] } } },
      'INVALID_ARG',
      "Unable to parse 'trace_count'. Expecting value >= -1, got: -2",
    ],
    [
      'a level that nothing is written for',
      { settings: { trace_level: { value: ['TENSORS'] } } },
      'INVALID_ARG',
      'Attempting to set invalid trace setting :trace file name is not given',
    ],
    [
      'a file',
      { settings: { trace_file: { value: ['x'] } } },
      'UNSUPPORTED',
      'trace file location can not be updated through network protocol',
    ],
    ['a model that is not ready', { ...rate('x'), modelName: 'n' }, 'INVALID_ARG', 'Request for unknown model : n'],
  ])('refuse %s', async (_, request, code, message) => {
    const { call } = await start();
    await expect(call('traceSetting', request)).rejects.toEqual(refused(code, message));
  });
});

describe('log settings', () => {
  function log() {
    const logger = new ServerLogger({ write: () => undefined });
    return new LogSettingsStore(logger, 'server.log', () => undefined);
  }

  it('are read and changed', async () => {
    const logSettings = log();
    const { call } = await start({ logSettings });
    const { settings } = (await call('logSettings', {
      settings: {
        log_info: { parameterChoice: { case: 'boolParam', value: false } },
        log_verbose_level: { parameterChoice: { case: 'uint32Param', value: 3 } },
        log_format: { parameterChoice: { case: 'stringParam', value: 'ISO8601' } },
        colour: {},
      },
    })) as { settings: Record<string, { parameterChoice: { value: unknown } }> };
    const values = Object.entries(settings).map(([name, { parameterChoice }]) => [name, parameterChoice.value]);
    expect(Object.fromEntries(values)).toEqual({
      log_file: 'server.log',
      log_info: false,
      log_warning: true,
      log_error: true,
      log_verbose_level: 3,
      log_format: 'ISO8601',
    });
    expect(logSettings.get()).toMatchObject({ info: false, verboseLevel: 3, format: 'ISO8601' });
  });

  const value = (name: string, parameterChoice: object) => ({ settings: { [name]: { parameterChoice } } });

  it.each<[string, object, TritonError['code'], string]>([
    [
      'a text for a boolean',
      value('log_info', { case: 'stringParam', value: 'true' }),
      'INVALID_ARG',
      "expect boolean for 'log_info'",
    ],
    ['nothing', { settings: { log_error: {} } }, 'INVALID_ARG', "expect boolean for 'log_error'"],
    [
      'a boolean for a level',
      value('log_verbose_level', { case: 'boolParam', value: true }),
      'INVALID_ARG',
      "expect int32 for 'log_verbose_level'",
    ],
    [
      'a level beyond all',
      value('log_verbose_level', { case: 'uint32Param', value: 4294967295 }),
      'INVALID_ARG',
      "Unable to parse 'log_verbose_level', value is out of range [ 0, 2147483647 ], got: 4294967295",
    ],
    [
      'an unknown format',
      value('log_format', { case: 'stringParam', value: 'fancy' }),
      'INVALID_ARG',
      'invalid argument for log_format, got: fancy',
    ],
    [
      'a boolean for a format',
      value('log_format', { case: 'boolParam', value: true }),
      'INVALID_ARG',
      "expect string for 'log_format'",
    ],
    [
      'a file',
      value('log_file', { case: 'stringParam', value: 'x' }),
      'UNSUPPORTED',
      'log file location can not be updated through network protocol',
    ],
  ])('refuse %s', async (_, request, code, message) => {
    const { call } = await start();
    await expect(call('logSettings', request)).rejects.toEqual(refused(code, message));
  });
});

describe('shared memory', () => {
  it('is registered, told and unregistered', async () => {
    const { key } = new SharedMemoryObject(8192);
    const { call } = await start({ sharedMemory: new SharedMemoryRegistry({ allowed: true }) });
    await call('systemSharedMemoryRegister', { name: 'r', key, offset: 4096n, byteSize: 64n });
    const status = { regions: { r: { name: 'r', key, offset: 4096n, byteSize: 64n } } };
    expect(await call('systemSharedMemoryStatus', {})).toMatchObject(status);
    expect(await call('systemSharedMemoryStatus', { name: 'r' })).toMatchObject(status);
    await call('systemSharedMemoryUnregister', { name: 'r' });
    await call('systemSharedMemoryUnregister', {});
    await expect(call('systemSharedMemoryStatus', { name: 'r' })).rejects.toEqual(
      refused('NOT_FOUND', "Unable to find system shared memory region: 'r'"),
    );
  });

  it('of GPUs is none', async () => {
    const { call } = await start();
    expect(await call('cudaSharedMemoryStatus', {})).toMatchObject({ regions: {} });
    await call('cudaSharedMemoryUnregister', { name: 'c' });
    await expect(call('cudaSharedMemoryStatus', { name: 'c' })).rejects.toEqual(
      refused('NOT_FOUND', "Unable to find cuda shared memory region: 'c'"),
    );
    await expect(call('cudaSharedMemoryRegister', { name: 'c' })).rejects.toEqual(
      refused('UNSUPPORTED', "failed to register CUDA shared memory region: 'c', GPUs not supported"),
    );
  });
});

it('bytes that are no message are refused', async () => {
  const { send } = await start();
  await expect(send('logSettings', Uint8Array.of(0x0a, 0xff))).rejects.toEqual(
    refused('INTERNAL', 'Unable to parse request'),
  );
});
