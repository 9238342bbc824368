// The endpoints that read or change the server's settings: trace and log settings, the model repository, shared memory
// (server/src/http_server.cc, HandleTrace, HandleLogging, HandleRepositoryIndex, HandleRepositoryControl,
// HandleSystemSharedMemory).

import { invalidArg } from '../../errors.js';
import { REQUEST_LIMITS } from '../../model/request-limits.js';
import { startPaced } from '../../pacing/paced-workers.js';
import { noCudaMemory, refuseRepository, unknownCudaRegion } from '../../protocol/control-refusals.js';
import {
  decodeLogUpdate,
  decodeRepositoryIndex,
  decodeSharedMemoryRegistration,
  decodeTraceUpdate,
  repositoryIndexJson,
  sharedMemoryStatusJson,
} from '../../protocol/http/control-json.js';
import { decodeLoadRequest, type LoadParametersJson } from '../../protocol/http/decode-load-request.js';
import { parseBody } from '../../protocol/http/json-access.js';
import { logSettingsJson } from '../../protocol/log-settings.js';
import { traceSettingsJson } from '../../protocol/trace-settings.js';
import type { ServedCore } from '../served-core.js';
import { answerBody, answerError } from './answers.js';
import type { EndpointHandler, EndpointTarget } from './endpoint-handler.js';

interface ControlCall extends EndpointTarget {
  readonly server: ServedCore;
  readonly body: Buffer;
  /** Whether the call reads settings and changes none. */
  readonly reads: boolean;
}

/** Resolves with a value for the answer's body, which JSON.stringify takes; undefined for an empty body. */
type Perform = (call: ControlCall) => Promise<object | undefined>;

/** Performs a call once its body is there, and answers it. */
function controlled(perform: Perform): EndpointHandler {
  return (request, target, { server, maxInputSize }) => {
    const limit = Math.min(maxInputSize, REQUEST_LIMITS.controlBytes);
    const reads = request.method === 'GET';
    return (exchange) => {
      const onBody = (body: Buffer) => {
        perform({ ...target, server, body, reads }).then(
          (answer) => {
            const json = answer === undefined ? '' : JSON.stringify(answer);
            answerBody(exchange, 'application/json', Buffer.from(json));
          },
          (error: unknown) => answerError(exchange, error),
        );
      };
      exchange.receiveBody({ limit, alignedAt: 0, onBody });
    };
  };
}

export const trace = controlled(async ({ server, model, body, reads }) => {
  const settings = await server.traceSettings(model);
  return traceSettingsJson(
    reads ? settings : await server.updateTraceSettings(model, decodeTraceUpdate(parseBody(body))),
  );
});

export const logging = controlled(async ({ server: { logSettings }, body, reads }) => {
  const update = reads ? {} : decodeLogUpdate(parseBody(body));
  return logSettingsJson(logSettings.file, await logSettings.update(update));
});

export const repositoryIndex = controlled(async ({ server, body }) =>
  repositoryIndexJson(await server.models.index(decodeRepositoryIndex(body))),
);

/** Loads a model. A client may bring the files of the model, so the body may be as large as that of an inference. */
export const modelLoad: EndpointHandler =
  (_, { model, repository }, { server, maxInputSize }) =>
  (exchange) => {
    const failed = (error: unknown) => answerError(exchange, error);
    const left = new AbortController();
    const onBody = (body: Buffer) => {
      // Aborted when the client leaves.
      exchange.onAbort(() => left.abort());
      const done = (parameters: LoadParametersJson) => {
        server
          .loadModel(model, parameters, { bytes: body.length, left: left.signal })
          .then(() => answerBody(exchange, 'application/json', Buffer.alloc(0)), failed);
      };
      startPaced(decodeLoadRequest(body), { done, failed });
    };
    refuseRepository(repository);
    exchange.receiveBody({ limit: maxInputSize, alignedAt: 0, onBody });
  };

export const modelUnload = controlled(async ({ server, model, repository }) => {
  refuseRepository(repository);
  // Triton ignores the content of the body: nothing here depends on a model.
  await server.models.unload(model);
  return undefined;
});

export const systemStatus = controlled(async ({ server: { sharedMemory }, region }) =>
  sharedMemoryStatusJson(region === undefined ? await sharedMemory.regions() : [await sharedMemory.region(region)]),
);

export const systemRegister = controlled(async ({ server, region, body }) => {
  await server.sharedMemory.register(decodeSharedMemoryRegistration(regionOf(region, 'system'), body));
  return undefined;
});

export const systemUnregister = controlled(async ({ server: { sharedMemory }, region }) => {
  if (region === undefined) await sharedMemory.unregisterAll();
  else await sharedMemory.unregister(region);
  return undefined;
});

export const cudaStatus = controlled(async ({ region }) => {
  if (region === undefined) return [];
  throw unknownCudaRegion(region);
});

export const cudaRegister = controlled(async ({ region }) => {
  throw noCudaMemory(regionOf(region, 'cuda'));
});

/** Does nothing: the server has no regions, and Triton allows clients to unregister unknown ones. */
export const cudaUnregister = controlled(async () => undefined);

function regionOf(region: string | undefined, kind: string): string {
  if (region !== undefined) return region;
  throw invalidArg(`'region name' is necessary to register ${kind} shared memory region`);
}
