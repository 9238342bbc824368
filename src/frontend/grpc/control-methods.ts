// The methods that read or change the server's settings: trace and log settings, the model repository, shared memory
// (server/src/grpc/grpc_server.cc, CommonHandler).

import type { LoadingClient, LoadParameters } from '../../core/client-loads.js';
import { invalidArg } from '../../errors.js';
import type { SystemSharedMemoryRegion } from '../../model/shared-memory.js';
import {
  checkLoadParameter,
  noCudaMemory,
  refuseRepository,
  unknownCudaRegion,
} from '../../protocol/control-refusals.js';
import { decodeMessage } from '../../protocol/grpc/decode-message.js';
import { type InputOf, inputType, type OutputOf, type UnaryName } from '../../protocol/grpc/service-methods.js';
import {
  decodeLogUpdate,
  decodeTraceUpdate,
  logSettingsMessage,
  traceSettingsMessage,
} from '../../protocol/grpc/settings-messages.js';
import type {
  RepositoryModelLoadRequest,
  RepositoryModelUnloadRequest,
} from '../../protocol/protobuf/generated/grpc-service.js';
import type { Init } from '../../protocol/protobuf/values.js';
import { type Later, type ServedCore, whenHere } from '../served-core.js';
import { describedMethod } from './described-method.js';
import type { UnaryMethod } from './unary-call.js';

/** The methods by name. */
export function controlMethods(server: ServedCore) {
  const { sharedMemory, models, logSettings } = server;
  return {
    RepositoryIndex: method('RepositoryIndex', ({ repositoryName, ready }) => {
      refuseRepository(repositoryName);
      return whenHere(models.index(ready), (index) => ({ models: index.map((model) => ({ ...model })) }));
    }),
    RepositoryModelLoad: {
      ...method('RepositoryModelLoad', (request, client) => {
        refuseRepository(request.repositoryName);
        return whenHere(server.loadModel(request.modelName, loadParameters(request), client), nothing);
      }),
      waits: true,
    },
    RepositoryModelUnload: method('RepositoryModelUnload', (request) => {
      refuseRepository(request.repositoryName);
      checkUnloadParameters(request);
      return whenHere(models.unload(request.modelName), nothing);
    }),
    TraceSetting: method('TraceSetting', (request) => {
      const { modelName } = request;
      // The model comes first: an unknown model is reported before any other mistake.
      const changed = whenHere(server.traceSettings(modelName), () =>
        server.updateTraceSettings(modelName, decodeTraceUpdate(request)),
      );
      return whenHere(changed, traceSettingsMessage);
    }),
    LogSettings: method('LogSettings', (request) =>
      whenHere(logSettings.update(decodeLogUpdate(request)), (settings) =>
        logSettingsMessage(logSettings.file, settings),
      ),
    ),
    SystemSharedMemoryStatus: method('SystemSharedMemoryStatus', ({ name }) => {
      const regions = name === '' ? sharedMemory.regions() : whenHere(sharedMemory.region(name), (one) => [one]);
      return whenHere(regions, (all) => ({
        regions: Object.fromEntries(all.map((region) => [region.name, statusOf(region)])),
      }));
    }),
    SystemSharedMemoryRegister: method('SystemSharedMemoryRegister', ({ name, key, offset, byteSize }) =>
      whenHere(sharedMemory.register({ name, key, offset, byteSize }), nothing),
    ),
    SystemSharedMemoryUnregister: method('SystemSharedMemoryUnregister', ({ name }) =>
      whenHere(name === '' ? sharedMemory.unregisterAll() : sharedMemory.unregister(name), nothing),
    ),
    CudaSharedMemoryStatus: method('CudaSharedMemoryStatus', ({ name }) => {
      if (name !== '') throw unknownCudaRegion(name);
      return {};
    }),
    CudaSharedMemoryRegister: method('CudaSharedMemoryRegister', ({ name }) => {
      throw noCudaMemory(name);
    }),
    // The server has no such memory, and Triton accepts unknown names too.
    CudaSharedMemoryUnregister: method('CudaSharedMemoryUnregister', nothing),
  };
}

function nothing() {
  return {};
}

function loadParameters({ parameters }: RepositoryModelLoadRequest): LoadParameters {
  let config: string | undefined;
  const files: [string, Uint8Array][] = [];
  for (const [name, { parameterChoice }] of Object.entries(parameters)) {
    checkLoadParameter(name);
    const expected = name === 'config' ? 'string_param' : 'bytes_param';
    if (parameterChoice.case !== (expected === 'string_param' ? 'stringParam' : 'bytesParam')) {
      throw invalidArg(`invalid value type for load parameter '${name}', expected ${expected}.`);
    }
    if (parameterChoice.case === 'stringParam') config = parameterChoice.value;
    if (parameterChoice.case === 'bytesParam') files.push([name, parameterChoice.value]);
  }
  return { config, files: Object.fromEntries(files) };
}

function checkUnloadParameters({ parameters }: RepositoryModelUnloadRequest): void {
  const dependents = Object.hasOwn(parameters, 'unload_dependents') ? parameters['unload_dependents'] : undefined;
  if (dependents !== undefined && dependents.parameterChoice.case !== 'boolParam') {
    throw invalidArg("invalid value type for 'unload_dependents' parameter, expected bool_param.");
  }
}

function statusOf({ name, key, offset, byteSize }: SystemSharedMemoryRegion) {
  return { name, key, offset: BigInt(offset), byteSize: BigInt(byteSize) };
}

function method<Name extends UnaryName>(
  name: Name,
  answer: (request: InputOf<Name>, client: LoadingClient) => Later<Init<OutputOf<Name>>>,
): UnaryMethod {
  return describedMethod(name, (message) => decodeMessage(inputType(name), message), answer);
}
