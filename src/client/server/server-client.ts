// The client of a server as a whole: its readiness, its models and its settings. One class serves both protocols, which give the
// same answers.

import { TritonError } from '../../errors.js';
import { checkMembers, expectAtLeast, expectObject, expectString } from '../../checks/check.js';
import type { ModelMetadata } from '../../protocol/model-metadata.js';
import { plainMessage } from '../../protocol/plain-message.js';
import {
  type LogSettingsResponse,
  ModelMetadataResponse,
  ModelStatistics,
  ServerMetadataResponse,
  type TraceSettingResponse,
} from '../../protocol/protobuf/generated/grpc-service.js';
import { ModelConfig } from '../../protocol/protobuf/generated/model-config.js';
import type { MessageType } from '../../protocol/protobuf/message-type.js';
import type { Call } from '../call.js';
import { ClientCalls } from '../client-calls.js';
import {
  completeCallOptions,
  completeClientOptions,
  type CallOptions,
  type CompleteClientOptions,
  type ServerClientOptions,
} from '../client-options.js';
import type { InProcessServer } from '../../in-process/open-transport.js';
import { serverTarget } from '../in-process-server.js';
import type {
  LogSettingsUpdate,
  ModelLoad,
  RepositoryModel,
  ServedLogSettings,
  ServedModelConfig,
  ServedModelStatistics,
  ServedTraceSettings,
  ServerMetadata,
  SharedMemoryRegion,
  TraceSettingsUpdate,
} from './server-data.js';
import type { ServerOperation } from './server-operation.js';
import * as ask from './server-operations.js';
import type { ModelReference, Transport } from '../transport.js';

/** A call about a model. */
export interface ModelCallOptions extends CallOptions {
  /** Default: the latest version; for statistics, all versions. */
  readonly modelVersion?: number;
}

export interface WaitOptions extends CallOptions {
  /** Also wait for this model. */
  readonly model?: string;
  readonly modelVersion?: number;
}

/**
 * A client of a server, ours or any other that speaks Triton's protocol. Its calls reject with the same errors as a ModelClient's.
 *
 * @example
 * await using server = new ServerClient('grpc://localhost');
 * await server.waitForReady({ timeoutMs: 30_000 });
 * console.log(await server.metadata());
 */
export class ServerClient {
  readonly #address: string;
  readonly #options: CompleteClientOptions;
  readonly #transport: Transport;
  readonly #calls: ClientCalls;

  /** `url` as for ModelClient. Nothing is sent yet. Throws INVALID_ARG. */
  constructor(url: string | InProcessServer, options: ServerClientOptions = {}) {
    const server = serverTarget(url);
    this.#options = completeClientOptions(options, server.protocol, 'server');
    this.#address = server.address;
    const open = server.open(this.#options);
    this.#transport = open.transport;
    this.#calls = new ClientCalls(open, { ...this.#options, name: 'ServerClient' });
  }

  /** Whether the server runs. Rejects with UNAVAILABLE when it cannot be reached. */
  async isLive(options: CallOptions = {}): Promise<boolean> {
    return (await this.#ask(ask.serverLive(), { ...NOW, ...checked(options) })).live;
  }

  /** Whether the server and its models take requests. */
  async isReady(options: CallOptions = {}): Promise<boolean> {
    return (await this.#ask(ask.serverReady(), { ...NOW, ...checked(options) })).ready;
  }

  /** Whether a model takes requests; false for an unknown one. */
  async isModelReady(modelName: string, options: ModelCallOptions = {}): Promise<boolean> {
    const { model, call } = referenceIn(modelName, options);
    try {
      return (await this.#ask(ask.modelReady(model), { ...NOW, ...call })).ready;
    } catch (error) {
      if (TritonError.is(error) && error.code === 'NOT_FOUND') return false;
      throw error;
    }
  }

  /**
   * Settles when the server takes requests, and the named model too. Until then it asks again and again, even while no server
   * listens at the address. Rejects at the deadline, `timeoutMs`, with the last reason; at once with other errors.
   */
  async waitForReady(options: WaitOptions = {}): Promise<void> {
    const { model, modelVersion, ...ofCall } = checked(options);
    const limits = completeCallOptions(ofCall, this.#options);
    const subject = `${model === undefined ? '' : `model '${model}' of `}the server at ${this.#address} to be ready`;
    const asked =
      model === undefined
        ? ask.serverReady()
        : ask.modelReady(referenceIn(model, modelVersion === undefined ? {} : { modelVersion }).model);
    await this.#calls.run({ ...limits, subject }, async (call) => {
      let delay = FIRST_DELAY_MS;
      for (;;) {
        const reason = await this.#notReady(asked, call, limits.headers);
        if (reason === undefined) return;
        call.reason = reason;
        await call.sleep(Math.min(delay, call.remainingMs));
        delay = Math.min(2 * delay, LONGEST_DELAY_MS);
      }
    });
  }

  async metadata(options: CallOptions = {}): Promise<ServerMetadata> {
    return plain(ServerMetadataResponse, await this.#ask(ask.serverMetadata(), options));
  }

  async modelMetadata(modelName: string, options: ModelCallOptions = {}): Promise<ModelMetadata> {
    const { model, call } = referenceIn(modelName, options);
    return plain(ModelMetadataResponse, await this.#ask(ask.modelMetadata(model), call));
  }

  async modelConfig(modelName: string, options: ModelCallOptions = {}): Promise<ServedModelConfig> {
    const { model, call } = referenceIn(modelName, options);
    const { config } = await this.#ask(ask.modelConfig(model), call);
    if (config === undefined)
      throw new TritonError('INTERNAL', 'malformed response of the server: it has no model configuration');
    return plain(ModelConfig, config);
  }

  /** The statistics of all versions of all models, or of one model. */
  async statistics(modelName = '', options: ModelCallOptions = {}): Promise<readonly ServedModelStatistics[]> {
    const { model, call } = referenceIn(modelName, options);
    const { modelStats } = await this.#ask(ask.modelStatistics(model), call);
    return modelStats.map((each) => plain(ModelStatistics, each));
  }

  /** The models of the repository. With `ready`, only the models that take requests. */
  async repositoryIndex(options: CallOptions & { readonly ready?: boolean } = {}): Promise<readonly RepositoryModel[]> {
    const { ready = false, ...ofCall } = checked(options);
    const { models } = await this.#ask(ask.repositoryIndex(ready), ofCall);
    return models.map(({ name, version, state, reason }) => ({ name, version, state, reason }));
  }

  /** Settles when the model is loaded. */
  async loadModel(modelName: string, options: ModelLoad & CallOptions = {}): Promise<void> {
    const { config, files, ...ofCall } = checked(options);
    const load = { ...(config === undefined ? {} : { config }), ...(files === undefined ? {} : { files }) };
    await this.#ask(ask.loadModel(modelName, load), ofCall);
  }

  /** The server begins to unload the model. With `unloadDependents` it also unloads the models that only this model needs. */
  async unloadModel(
    modelName: string,
    options: CallOptions & { readonly unloadDependents?: boolean } = {},
  ): Promise<void> {
    const { unloadDependents = false, ...ofCall } = checked(options);
    await this.#ask(ask.unloadModel(modelName, unloadDependents), ofCall);
  }

  /** The trace settings of the server, or of one model with `model`. */
  async traceSettings(options: CallOptions & { readonly model?: string } = {}): Promise<ServedTraceSettings> {
    const { model = '', ...ofCall } = checked(options);
    return traceSettingsIn(await this.#ask(ask.traceSettings(model, undefined), ofCall));
  }

  /** The settings after the change. */
  async updateTraceSettings(
    update: TraceSettingsUpdate,
    options: CallOptions & { readonly model?: string } = {},
  ): Promise<ServedTraceSettings> {
    const { model = '', ...ofCall } = checked(options);
    checkMembers(update, ['level', 'rate', 'count', 'logFrequency'], 'trace settings');
    return traceSettingsIn(await this.#ask(ask.traceSettings(model, update), ofCall));
  }

  async logSettings(options: CallOptions = {}): Promise<ServedLogSettings> {
    return logSettingsIn(await this.#ask(ask.logSettings(undefined), options));
  }

  /** The settings after the change. */
  async updateLogSettings(update: LogSettingsUpdate, options: CallOptions = {}): Promise<ServedLogSettings> {
    checkMembers(update, ['file', 'info', 'warning', 'error', 'verboseLevel', 'format'], 'log settings');
    return logSettingsIn(await this.#ask(ask.logSettings(update), options));
  }

  /** The registered system shared memory: all regions, or one. */
  async systemSharedMemory(name = '', options: CallOptions = {}): Promise<readonly Required<SharedMemoryRegion>[]> {
    const { regions } = await this.#ask(ask.sharedMemoryStatus(name), options);
    return Object.values(regions).map(({ name: region, key, offset, byteSize }) => ({
      name: region,
      key,
      offset: Number(offset),
      byteSize: Number(byteSize),
    }));
  }

  async registerSystemSharedMemory(region: SharedMemoryRegion, options: CallOptions = {}): Promise<void> {
    await this.#ask(ask.registerSharedMemory(region), options);
  }

  /** Unregisters one region, or all of them. */
  async unregisterSystemSharedMemory(name = '', options: CallOptions = {}): Promise<void> {
    await this.#ask(ask.unregisterSharedMemory(name), options);
  }

  /** Cancels the calls in flight and closes all connections; settles when nothing is left open. */
  close(): Promise<void> {
    return this.#calls.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #ask<Answer extends object>(operation: ServerOperation<Answer>, options: CallOptions): Promise<Answer> {
    const limits = completeCallOptions(options, this.#options);
    // Reading twice does no harm.
    const retry = operation.http.method === 'GET' ? { ...limits.retry, idempotent: true } : limits.retry;
    const called = { ...limits, retry, subject: `${operation.grpc.method} at ${this.#address}` };
    return this.#calls.run(called, (call) =>
      this.#calls.send(call, called, () => this.#transport.ask(operation, call, limits.headers)),
    );
  }

  /** Returns why it is not ready; undefined when it is. Throws errors that will not pass by waiting. */
  async #notReady(
    operation: ServerOperation<{ readonly ready: boolean }>,
    call: Call,
    headers: Readonly<Record<string, string>>,
  ): Promise<string | undefined> {
    try {
      const { ready } = await this.#transport.ask(operation, call, headers);
      return ready ? undefined : 'it is not ready';
    } catch (error) {
      call.throwIfAborted();
      const { code, message } = TritonError.from(error);
      if (code !== 'NOT_FOUND' && code !== 'UNAVAILABLE') throw error;
      return message;
    }
  }
}

/** Options of questions about this moment. */
const NOW: CallOptions = { retry: false };

const FIRST_DELAY_MS = 20;
const LONGEST_DELAY_MS = 1000;

/** Throws INVALID_ARG. */
function referenceIn(
  modelName: string,
  options: ModelCallOptions,
): {
  readonly model: ModelReference;
  readonly call: CallOptions;
} {
  const { modelVersion, ...call } = checked(options);
  expectString(modelName, 'modelName');
  const version = modelVersion === undefined ? '' : String(expectAtLeast(modelVersion, 1, 'modelVersion'));
  return { model: { modelName, modelVersion: version }, call };
}

/** Throws INVALID_ARG. Their members are checked later. */
function checked<Options extends CallOptions>(options: Options): Options {
  expectObject(options, 'options of a call');
  return options;
}

function plain<T, Message extends object>(type: MessageType<Message>, message: Message): T {
  return plainMessage(type, message) as T;
}

function traceSettingsIn({ settings }: TraceSettingResponse): ServedTraceSettings {
  const values = (name: string): readonly string[] => settings[name]?.value ?? [];
  const frequency = values('log_frequency')[0];
  return {
    level: values('trace_level'),
    rate: Number(values('trace_rate')[0]),
    count: Number(values('trace_count')[0]),
    logFrequency: frequency === undefined ? undefined : Number(frequency),
    file: values('trace_file')[0],
    mode: values('trace_mode')[0],
  };
}

function logSettingsIn({ settings }: LogSettingsResponse): ServedLogSettings {
  const value = (name: string) => settings[name]?.parameterChoice.value;
  return {
    file: String(value('log_file') ?? ''),
    info: value('log_info') === true,
    warning: value('log_warning') === true,
    error: value('log_error') === true,
    verboseLevel: Number(value('log_verbose_level') ?? 0),
    format: String(value('log_format') ?? ''),
  };
}
