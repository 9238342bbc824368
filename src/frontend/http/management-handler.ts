// The endpoints that change or tell how the server is set: trace and log settings, the model repository, shared
// memory (server/src/http_server.cc, HandleTrace, HandleLogging, HandleRepositoryIndex, HandleRepositoryControl,
// HandleSystemSharedMemory).

import type { InferenceServer } from '../../core/inference-server.js';
import { TritonError } from '../../errors.js';
import { REQUEST_LIMITS } from '../../model/request-limits.js';
import { parseBody } from '../../protocol/http/json-access.js';
import { decodeLogUpdate, logSettingsJson } from '../../protocol/http/log-settings-json.js';
import {
  decodeLoadParameters,
  decodeRepositoryIndex,
  repositoryIndexJson,
} from '../../protocol/http/repository-json.js';
import { decodeSharedMemoryRegistration, sharedMemoryStatusJson } from '../../protocol/http/shared-memory-json.js';
import { decodeTraceUpdate, traceSettingsJson } from '../../protocol/http/trace-settings-json.js';
import type { HttpExchange } from './http-exchange.js';
import { receiveBody } from './receive-body.js';
import type { Route, SharedMemoryEndpoint } from './routes.js';

export type ManagementEndpoint =
  'trace' | 'logging' | 'repository index' | 'model load' | 'model unload' | SharedMemoryEndpoint;

export interface ManagementHandlerOptions {
  readonly server: InferenceServer;
  /** Largest body in bytes. */
  readonly maxInputSize: number;
}

/** What the answer's body says; undefined for none. */
type Answer = object | undefined;

/** Answers once the body is there. */
export function handleManagement(exchange: HttpExchange, route: Route, options: ManagementHandlerOptions): void {
  const { server, maxInputSize } = options;
  const fail = (error: unknown) => exchange.answerError(TritonError.from(error));
  receiveBody(exchange, Math.min(maxInputSize, REQUEST_LIMITS.controlBytes), {
    received: (body) => {
      perform(server, route, body, exchange.request.method === 'GET').then((answer) => {
        exchange.answerBody(200, 'application/json', Buffer.from(answer === undefined ? '' : JSON.stringify(answer)));
      }, fail);
    },
    refused: (error) => {
      exchange.connection.closeWhenAnswered();
      fail(error);
    },
  });
}

async function load(server: InferenceServer, model: string, body: Buffer): Promise<void> {
  const { config, files } = decodeLoadParameters(body);
  if (config === undefined) return server.loadModel(model, { files });
  // It needs protobuf's descriptors, which are loaded when they are first asked for.
  const { readConfigOverride } = await import('../../protocol/config-override.js');
  await server.loadModel(model, { override: readConfigOverride(config), files });
}

async function perform(server: InferenceServer, route: Route, body: Buffer, reads: boolean): Promise<Answer> {
  const { model, region, repository } = route;
  switch (route.endpoint as ManagementEndpoint) {
    case 'trace': {
      const settings = server.traceSettings(model);
      return traceSettingsJson(
        reads ? settings : server.updateTraceSettings(model, decodeTraceUpdate(parseBody(body))),
      );
    }
    case 'logging': {
      const { logSettings } = server;
      const settings = reads ? logSettings.get() : logSettings.update(decodeLogUpdate(parseBody(body)));
      return logSettingsJson(logSettings.file, settings);
    }
    case 'repository index':
      return repositoryIndexJson(server.models.index(decodeRepositoryIndex(body)));
    case 'model load':
      refuseRepository(repository);
      await load(server, model, body);
      return undefined;
    case 'model unload':
      refuseRepository(repository);
      // Triton takes whatever the body says: nothing here depends on a model.
      server.models.unload(model);
      return undefined;
    case 'system shared memory status':
      return sharedMemoryStatusJson(
        region === undefined ? server.sharedMemory.regions() : [server.sharedMemory.region(region)],
      );
    case 'system shared memory register':
      server.sharedMemory.register(decodeSharedMemoryRegistration(regionOf(region, 'system'), body));
      return undefined;
    case 'system shared memory unregister':
      if (region === undefined) server.sharedMemory.unregisterAll();
      else server.sharedMemory.unregister(region);
      return undefined;
    case 'cuda shared memory status':
      if (region === undefined) return [];
      throw new TritonError('NOT_FOUND', `Unable to find cuda shared memory region: '${region}'`);
    case 'cuda shared memory register': {
      const name = regionOf(region, 'cuda');
      throw new TritonError(
        'UNSUPPORTED',
        `failed to register CUDA shared memory region: '${name}', GPUs not supported`,
      );
    }
    case 'cuda shared memory unregister':
      // There is none, and unknown ones are no mistake.
      return undefined;
  }
}

function refuseRepository(repository: string | undefined): void {
  if (repository !== undefined)
    throw new TritonError('UNSUPPORTED', "'repository_name' specification is not supported");
}

function regionOf(region: string | undefined, kind: string): string {
  if (region !== undefined) return region;
  throw new TritonError('INVALID_ARG', `'region name' is necessary to register ${kind} shared memory region`);
}
