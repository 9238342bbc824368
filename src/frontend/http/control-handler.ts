// The endpoints that change or tell how the server is set: trace and log settings, the model repository, shared
// memory (server/src/http_server.cc, HandleTrace, HandleLogging, HandleRepositoryIndex, HandleRepositoryControl,
// HandleSystemSharedMemory).

import { invalidArg, TritonError } from '../../errors.js';
import { REQUEST_LIMITS } from '../../model/request-limits.js';
import { noCudaMemory, refuseRepository, unknownCudaRegion } from '../../protocol/control-refusals.js';
import {
  decodeLoadParameters,
  decodeLogUpdate,
  decodeRepositoryIndex,
  decodeSharedMemoryRegistration,
  decodeTraceUpdate,
  repositoryIndexJson,
  sharedMemoryStatusJson,
} from '../../protocol/http/control-json.js';
import { parseBody } from '../../protocol/http/json-access.js';
import { logSettingsJson } from '../../protocol/log-settings.js';
import { traceSettingsJson } from '../../protocol/trace-settings.js';
import type { ServedCore } from '../served-core.js';
import type { HttpExchange } from './http-exchange.js';
import { receiveBody } from './receive-body.js';
import type { Route, SharedMemoryEndpoint } from './routes.js';

export type ControlEndpoint =
  'trace' | 'logging' | 'repository index' | 'model load' | 'model unload' | SharedMemoryEndpoint;

/** What the answer's body says; undefined for none. */
type Answer = object | undefined;

/** Answers once the body is there. */
export function handleControl(
  exchange: HttpExchange,
  route: Route,
  { server, maxInputSize }: { readonly server: ServedCore; readonly maxInputSize: number },
): void {
  receiveBody(exchange, { limit: Math.min(maxInputSize, REQUEST_LIMITS.controlBytes) }, (body) => {
    perform(server, route, body, exchange.request.method === 'GET').then(
      (answer) => {
        exchange.answerBody(200, 'application/json', Buffer.from(answer === undefined ? '' : JSON.stringify(answer)));
      },
      (error: unknown) => exchange.answerError(TritonError.from(error)),
    );
  });
}

async function perform(server: ServedCore, route: Route, body: Buffer, reads: boolean): Promise<Answer> {
  const { model, region, repository } = route;
  switch (route.endpoint as ControlEndpoint) {
    case 'trace': {
      const settings = await server.traceSettings(model);
      return traceSettingsJson(
        reads ? settings : await server.updateTraceSettings(model, decodeTraceUpdate(parseBody(body))),
      );
    }
    case 'logging': {
      const { logSettings } = server;
      const update = reads ? {} : decodeLogUpdate(parseBody(body));
      return logSettingsJson(logSettings.file, await logSettings.update(update));
    }
    case 'repository index':
      return repositoryIndexJson(await server.models.index(decodeRepositoryIndex(body)));
    case 'model load':
      refuseRepository(repository);
      await server.loadModel(model, decodeLoadParameters(body));
      return undefined;
    case 'model unload':
      refuseRepository(repository);
      // Triton takes whatever the body says: nothing here depends on a model.
      await server.models.unload(model);
      return undefined;
    case 'system shared memory status':
      return sharedMemoryStatusJson(
        region === undefined ? await server.sharedMemory.regions() : [await server.sharedMemory.region(region)],
      );
    case 'system shared memory register':
      await server.sharedMemory.register(decodeSharedMemoryRegistration(regionOf(region, 'system'), body));
      return undefined;
    case 'system shared memory unregister':
      if (region === undefined) await server.sharedMemory.unregisterAll();
      else await server.sharedMemory.unregister(region);
      return undefined;
    case 'cuda shared memory status':
      if (region === undefined) return [];
      throw unknownCudaRegion(region);
    case 'cuda shared memory register':
      throw noCudaMemory(regionOf(region, 'cuda'));
    case 'cuda shared memory unregister':
      // There is none, and unknown ones are no mistake.
      return undefined;
  }
}

function regionOf(region: string | undefined, kind: string): string {
  if (region !== undefined) return region;
  throw invalidArg(`'region name' is necessary to register ${kind} shared memory region`);
}
