// The methods that change or tell how the server is set: trace and log settings, the model repository, shared memory
// (server/src/grpc/grpc_server.cc, CommonHandler).

import { create, toBinary, type DescMessage, type MessageInitShape, type MessageShape } from '@bufbuild/protobuf';

import type { LoadParameters } from '../../core/inference-server.js';
import { TritonError } from '../../errors.js';
import type { SystemSharedMemoryRegion } from '../../model/shared-memory.js';
import {
  CudaSharedMemoryRegisterRequestSchema,
  CudaSharedMemoryRegisterResponseSchema,
  CudaSharedMemoryStatusRequestSchema,
  CudaSharedMemoryStatusResponseSchema,
  CudaSharedMemoryUnregisterRequestSchema,
  CudaSharedMemoryUnregisterResponseSchema,
  LogSettingsRequestSchema,
  LogSettingsResponseSchema,
  RepositoryIndexRequestSchema,
  RepositoryIndexResponseSchema,
  RepositoryModelLoadRequestSchema,
  RepositoryModelLoadResponseSchema,
  RepositoryModelUnloadRequestSchema,
  RepositoryModelUnloadResponseSchema,
  SystemSharedMemoryRegisterRequestSchema,
  SystemSharedMemoryRegisterResponseSchema,
  SystemSharedMemoryStatusRequestSchema,
  SystemSharedMemoryStatusResponseSchema,
  SystemSharedMemoryUnregisterRequestSchema,
  SystemSharedMemoryUnregisterResponseSchema,
  TraceSettingRequestSchema,
  TraceSettingResponseSchema,
  type RepositoryModelLoadRequest,
  type RepositoryModelUnloadRequest,
} from '../../protocol/grpc/generated/grpc_service_pb.js';
import { readConfigOverride } from '../../protocol/config-override.js';
import { decodeMessage } from '../../protocol/grpc/decode-message.js';
import { decodeLogUpdate, logSettingsMessage } from '../../protocol/grpc/log-settings-message.js';
import { frameMessage } from '../../protocol/grpc/message-frame.js';
import { decodeTraceUpdate, traceSettingsMessage } from '../../protocol/grpc/trace-settings-message.js';
import type { ControlledCore } from './served-core.js';
import type { UnaryMethod } from './unary-call.js';

/** The methods by name. */
export function controlMethods(server: ControlledCore) {
  const { sharedMemory, models, logSettings } = server;
  return {
    RepositoryIndex: method(
      RepositoryIndexRequestSchema,
      RepositoryIndexResponseSchema,
      ({ repositoryName, ready }) => {
        refuseRepository(repositoryName);
        return { models: models.index(ready).map((model) => ({ ...model })) };
      },
    ),
    RepositoryModelLoad: slowMethod(
      RepositoryModelLoadRequestSchema,
      RepositoryModelLoadResponseSchema,
      async (request) => {
        refuseRepository(request.repositoryName);
        await server.loadModel(request.modelName, loadParameters(request));
        return {};
      },
    ),
    RepositoryModelUnload: method(
      RepositoryModelUnloadRequestSchema,
      RepositoryModelUnloadResponseSchema,
      (request) => {
        refuseRepository(request.repositoryName);
        checkUnloadParameters(request);
        models.unload(request.modelName);
        return {};
      },
    ),
    TraceSetting: method(TraceSettingRequestSchema, TraceSettingResponseSchema, (request) => {
      const { modelName } = request;
      // First, because a model that is not there is the first mistake.
      server.traceSettings(modelName);
      return traceSettingsMessage(server.updateTraceSettings(modelName, decodeTraceUpdate(request)));
    }),
    LogSettings: method(LogSettingsRequestSchema, LogSettingsResponseSchema, (request) =>
      logSettingsMessage(logSettings.file, logSettings.update(decodeLogUpdate(request))),
    ),
    SystemSharedMemoryStatus: method(
      SystemSharedMemoryStatusRequestSchema,
      SystemSharedMemoryStatusResponseSchema,
      ({ name }) => {
        const regions = name === '' ? sharedMemory.regions() : [sharedMemory.region(name)];
        return { regions: Object.fromEntries(regions.map((region) => [region.name, statusOf(region)])) };
      },
    ),
    SystemSharedMemoryRegister: method(
      SystemSharedMemoryRegisterRequestSchema,
      SystemSharedMemoryRegisterResponseSchema,
      ({ name, key, offset, byteSize }) => {
        sharedMemory.register({ name, key, offset, byteSize });
        return {};
      },
    ),
    SystemSharedMemoryUnregister: method(
      SystemSharedMemoryUnregisterRequestSchema,
      SystemSharedMemoryUnregisterResponseSchema,
      ({ name }) => {
        if (name === '') sharedMemory.unregisterAll();
        else sharedMemory.unregister(name);
        return {};
      },
    ),
    CudaSharedMemoryStatus: method(
      CudaSharedMemoryStatusRequestSchema,
      CudaSharedMemoryStatusResponseSchema,
      ({ name }) => {
        if (name !== '') throw new TritonError('NOT_FOUND', `Unable to find cuda shared memory region: '${name}'`);
        return {};
      },
    ),
    CudaSharedMemoryRegister: method(
      CudaSharedMemoryRegisterRequestSchema,
      CudaSharedMemoryRegisterResponseSchema,
      ({ name }) => {
        throw new TritonError(
          'UNSUPPORTED',
          `failed to register CUDA shared memory region: '${name}', GPUs not supported`,
        );
      },
    ),
    // There is none, and unknown ones are no mistake.
    CudaSharedMemoryUnregister: method(
      CudaSharedMemoryUnregisterRequestSchema,
      CudaSharedMemoryUnregisterResponseSchema,
      () => ({}),
    ),
  };
}

function refuseRepository(name: string): void {
  if (name !== '') throw new TritonError('UNSUPPORTED', "'repository_name' specification is not supported");
}

function loadParameters({ parameters }: RepositoryModelLoadRequest): LoadParameters {
  let config: string | undefined;
  for (const [name, { parameterChoice }] of Object.entries(parameters)) {
    const expected = name === 'config' ? 'string_param' : name.startsWith('file:') ? 'bytes_param' : undefined;
    if (expected === undefined) throw new TritonError('INVALID_ARG', `unrecognized load parameter '${name}'.`);
    if (parameterChoice.case !== (expected === 'string_param' ? 'stringParam' : 'bytesParam')) {
      throw new TritonError('INVALID_ARG', `invalid value type for load parameter '${name}', expected ${expected}.`);
    }
    if (parameterChoice.case === 'stringParam') config = parameterChoice.value;
  }
  const files = Object.keys(parameters).filter((name) => name !== 'config');
  return { override: config === undefined ? undefined : readConfigOverride(config), files };
}

function checkUnloadParameters({ parameters }: RepositoryModelUnloadRequest): void {
  const dependents = Object.hasOwn(parameters, 'unload_dependents') ? parameters['unload_dependents'] : undefined;
  if (dependents !== undefined && dependents.parameterChoice.case !== 'boolParam') {
    throw new TritonError('INVALID_ARG', "invalid value type for 'unload_dependents' parameter, expected bool_param.");
  }
}

function statusOf({ name, key, offset, byteSize }: SystemSharedMemoryRegion) {
  return { name, key, offset: BigInt(offset), byteSize: BigInt(byteSize) };
}

function method<Request extends DescMessage, Response extends DescMessage>(
  requestSchema: Request,
  responseSchema: Response,
  answer: (request: MessageShape<Request>) => MessageInitShape<Response>,
): UnaryMethod {
  return {
    waits: false,
    serve(message, caller) {
      caller.succeed(encode(responseSchema, answer(decodeMessage(requestSchema, message))));
      return undefined;
    },
  };
}

/** What takes its time, and is not undone when the client leaves. */
function slowMethod<Request extends DescMessage, Response extends DescMessage>(
  requestSchema: Request,
  responseSchema: Response,
  answer: (request: MessageShape<Request>) => Promise<MessageInitShape<Response>>,
): UnaryMethod {
  return {
    waits: true,
    serve(message, caller) {
      answer(decodeMessage(requestSchema, message)).then(
        (response) => caller.succeed(encode(responseSchema, response)),
        (error: unknown) => caller.fail(TritonError.from(error)),
      );
      return undefined;
    },
  };
}

function encode<Schema extends DescMessage>(schema: Schema, response: MessageInitShape<Schema>): readonly Uint8Array[] {
  return [frameMessage(toBinary(schema, create(schema, response)))];
}
