// The questions that a ServerClient asks, in both protocols.

import { checkMembers, expectAtLeast, expectObject, expectString } from '../../checks/check.js';
import { invalidArg, TritonError } from '../../errors.js';
import {
  LogSettingsResponse,
  ModelConfigResponse,
  ModelMetadataResponse,
  ModelReadyResponse,
  ModelStatisticsResponse,
  RepositoryIndexResponse,
  RepositoryModelLoadResponse,
  RepositoryModelUnloadResponse,
  ServerLiveResponse,
  ServerMetadataResponse,
  ServerReadyResponse,
  SystemSharedMemoryRegisterResponse,
  SystemSharedMemoryStatusResponse,
  SystemSharedMemoryUnregisterResponse,
  TraceSettingResponse,
} from '../../protocol/protobuf/generated/grpc-service.js';
import type { JsonObject, JsonValue } from '../../protocol/protobuf/message-json.js';
import { serverOperation } from './server-operation.js';
import type { LogSettingsUpdate, ModelLoad, SharedMemoryRegion, TraceSettingsUpdate } from './server-data.js';
import { modelPath } from '../http/model-path.js';
import type { ModelReference } from '../transport.js';

const GET = 'GET';
const POST = 'POST';

export const serverLive = () =>
  serverOperation(
    ServerLiveResponse,
    { method: 'ServerLive' },
    { method: GET, path: '/health/live', read: (json) => ({ live: isTrue(json, 'live') }), no: [400, 503] },
  );

export const serverReady = () =>
  serverOperation(
    ServerReadyResponse,
    { method: 'ServerReady' },
    { method: GET, path: '/health/ready', read: (json) => ({ ready: isTrue(json, 'ready') }), no: [400, 503] },
  );

export const modelReady = (model: ModelReference) =>
  serverOperation(
    ModelReadyResponse,
    { method: 'ModelReady', message: named(model) },
    {
      method: GET,
      path: `${modelPath(model)}/ready`,
      read: (json) => ({ ready: isTrue(json, 'ready') }),
      no: [400, 404, 503],
    },
  );

/** The status says it. Other servers of the protocol say it in the body too. */
function isTrue(json: JsonValue, name: string): boolean {
  return (json as JsonObject | null)?.[name] !== false;
}

export const serverMetadata = () =>
  serverOperation(ServerMetadataResponse, { method: 'ServerMetadata' }, { method: GET, path: '' });

export const modelMetadata = (model: ModelReference) =>
  serverOperation(
    ModelMetadataResponse,
    { method: 'ModelMetadata', message: named(model) },
    { method: GET, path: modelPath(model) },
  );

export const modelConfig = (model: ModelReference) =>
  serverOperation(
    ModelConfigResponse,
    { method: 'ModelConfig', message: named(model) },
    { method: GET, path: `${modelPath(model)}/config`, read: (config) => ({ config }) },
  );

/** Of all models, when none is named. */
export const modelStatistics = (model: ModelReference) =>
  serverOperation(
    ModelStatisticsResponse,
    { method: 'ModelStatistics', message: named(model) },
    { method: GET, path: model.modelName === '' ? '/models/stats' : `${modelPath(model)}/stats` },
  );

export const repositoryIndex = (ready: boolean) =>
  serverOperation(
    RepositoryIndexResponse,
    { method: 'RepositoryIndex', message: { ready } },
    { method: POST, path: '/repository/index', body: { ready }, read: (models) => ({ models }) },
  );

export const loadModel = (modelName: string, { config, files = {} }: ModelLoad) => {
  if (config !== undefined && typeof config !== 'string') expectObject(config, 'the config of a load');
  expectObject(files, 'the files of a load');
  const text = config === undefined || typeof config === 'string' ? config : jsonOf(config);
  const contents = Object.entries(files).map(([path, bytes]) => [`file:${path}`, bytes] as const);
  return serverOperation(
    RepositoryModelLoadResponse,
    {
      method: 'RepositoryModelLoad',
      message: {
        modelName: expectString(modelName, 'modelName'),
        parameters: Object.fromEntries([
          ...(text === undefined
            ? []
            : [['config', { parameterChoice: { case: 'stringParam' as const, value: text } }]]),
          ...contents.map(([name, bytes]) => [
            name,
            { parameterChoice: { case: 'bytesParam' as const, value: new Uint8Array(bytes) } },
          ]),
        ]),
      },
    },
    {
      method: POST,
      path: `/repository/models/${encodeURIComponent(modelName)}/load`,
      body: {
        parameters: {
          ...(text === undefined ? {} : { config: text }),
          ...Object.fromEntries(contents.map(([name, bytes]) => [name, Buffer.from(bytes).toString('base64')])),
        },
      },
    },
  );
};

export const unloadModel = (modelName: string, unloadDependents: boolean) =>
  serverOperation(
    RepositoryModelUnloadResponse,
    {
      method: 'RepositoryModelUnload',
      message: {
        modelName: expectString(modelName, 'modelName'),
        parameters: unloadDependents
          ? { unload_dependents: { parameterChoice: { case: 'boolParam', value: true } } }
          : {},
      },
    },
    {
      method: POST,
      path: `/repository/models/${encodeURIComponent(modelName)}/unload`,
      body: { parameters: { unload_dependents: unloadDependents } },
    },
  );

/** Settings of the server, or of a model that is named; `update` changes some of them. */
export const traceSettings = (modelName: string, update: TraceSettingsUpdate | undefined) => {
  const values: [string, readonly string[] | null][] = Object.entries(TRACE_MEMBERS).flatMap(([member, name]) => {
    const value = update?.[member as keyof TraceSettingsUpdate];
    if (value === undefined) return [];
    return [[name, value === null ? null : typeof value === 'number' ? [String(value)] : value]];
  });
  return serverOperation(
    TraceSettingResponse,
    {
      method: 'TraceSetting',
      message: {
        modelName: expectString(modelName, 'model'),
        settings: Object.fromEntries(values.map(([name, value]) => [name, { value: [...(value ?? [])] }])),
      },
    },
    {
      method: update === undefined ? GET : POST,
      path: modelName === '' ? '/trace/setting' : `/models/${encodeURIComponent(modelName)}/trace/setting`,
      ...(update === undefined
        ? {}
        : {
            body: Object.fromEntries(
              values.map(([name, value]) => [name, name === 'trace_level' ? value : (value?.[0] ?? null)]),
            ),
          }),
      read: (json) => settingsOf(json, (value) => ({ value: Array.isArray(value) ? value : [value] })),
    },
  );
};

const TRACE_MEMBERS: Readonly<Record<keyof TraceSettingsUpdate, string>> = {
  level: 'trace_level',
  rate: 'trace_rate',
  count: 'trace_count',
  logFrequency: 'log_frequency',
};

export const logSettings = (update: LogSettingsUpdate | undefined) => {
  const given = Object.entries(LOG_MEMBERS).flatMap(([member, name]) => {
    const value = update?.[member as keyof LogSettingsUpdate];
    return value === undefined ? [] : [[name, value] as const];
  });
  const choice = (value: boolean | number | string) =>
    typeof value === 'boolean'
      ? ({ case: 'boolParam', value } as const)
      : typeof value === 'number'
        ? ({ case: 'uint32Param', value } as const)
        : ({ case: 'stringParam', value } as const);
  return serverOperation(
    LogSettingsResponse,
    {
      method: 'LogSettings',
      message: {
        settings: Object.fromEntries(given.map(([name, value]) => [name, { parameterChoice: choice(value) }])),
      },
    },
    {
      method: update === undefined ? GET : POST,
      path: '/logging',
      ...(update === undefined ? {} : { body: Object.fromEntries(given) }),
      read: (json) =>
        settingsOf(json, (value) =>
          typeof value === 'boolean'
            ? { boolParam: value }
            : typeof value === 'number'
              ? { uint32Param: value }
              : { stringParam: value },
        ),
    },
  );
};

const LOG_MEMBERS: Readonly<Record<keyof LogSettingsUpdate, string>> = {
  file: 'log_file',
  info: 'log_info',
  warning: 'log_warning',
  error: 'log_error',
  verboseLevel: 'log_verbose_level',
  format: 'log_format',
};

function settingsOf(json: JsonValue, read: (value: JsonValue) => JsonValue): JsonValue {
  return {
    settings: Object.fromEntries(Object.entries(json as JsonObject).map(([name, value]) => [name, read(value)])),
  };
}

const REGION_NAME = 'name of a region of shared memory';

export const sharedMemoryStatus = (name: string) =>
  serverOperation(
    SystemSharedMemoryStatusResponse,
    { method: 'SystemSharedMemoryStatus', message: { name: expectString(name, REGION_NAME) } },
    {
      method: GET,
      path: `/systemsharedmemory${regionPath(name)}/status`,
      read: (regions) => ({
        regions: Object.fromEntries((regions as { readonly name: string }[]).map((region) => [region.name, region])),
      }),
    },
  );

/** Throws INVALID_ARG. */
export const registerSharedMemory = (region: SharedMemoryRegion) => {
  const what = 'a region of shared memory';
  checkMembers(region, ['name', 'key', 'offset', 'byteSize'], what);
  const name = expectString(region.name, REGION_NAME);
  const key = expectString(region.key, `key of ${what}`);
  const offset = expectAtLeast(region.offset ?? 0, 0, `offset of ${what}`);
  const byteSize = expectAtLeast(region.byteSize, 0, `byteSize of ${what}`);
  return serverOperation(
    SystemSharedMemoryRegisterResponse,
    {
      method: 'SystemSharedMemoryRegister',
      message: { name, key, offset: BigInt(offset), byteSize: BigInt(byteSize) },
    },
    {
      method: POST,
      path: `/systemsharedmemory${regionPath(name)}/register`,
      body: { key, offset, byte_size: byteSize },
    },
  );
};

/** All of them, without a name. */
export const unregisterSharedMemory = (name: string) =>
  serverOperation(
    SystemSharedMemoryUnregisterResponse,
    { method: 'SystemSharedMemoryUnregister', message: { name: expectString(name, REGION_NAME) } },
    { method: POST, path: `/systemsharedmemory${regionPath(name)}/unregister` },
  );

function regionPath(name: string): string {
  return name === '' ? '' : `/region/${encodeURIComponent(name)}`;
}

function named({ modelName, modelVersion }: ModelReference) {
  return { name: modelName, version: modelVersion };
}

function jsonOf(config: object): string {
  try {
    return JSON.stringify(config);
  } catch (error) {
    // A bigint or a cycle.
    throw invalidArg(`the config of a load cannot be written as JSON: ${TritonError.from(error).message}`);
  }
}
