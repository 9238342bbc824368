// The methods that are served, by path.

import { REQUEST_LIMITS } from '../../model/request-limits.js';
import type { CompressionLevel } from '../../protocol/grpc/message-compression.js';
import type { DescribedMethods } from './described-methods.js';
import { healthMethods } from './health-methods.js';
import { healthWatchMethod } from './health-watch-method.js';
import type { InferOptions } from '../complete-request.js';
import { LateMethods } from './late-methods.js';
import { modelInferMethod } from './model-infer-method.js';
import { modelStreamInferMethod } from './model-stream-infer-method.js';
import type { ServedCore } from '../served-core.js';
import type { StreamMethod } from './stream-call.js';
import type { UnaryMethod } from './unary-call.js';

export interface ServiceOptions extends InferOptions {
  readonly server: ServedCore;
  /** How answers of inference are compressed. */
  readonly compression: CompressionLevel;
}

export type ServedMethod = UnaryMethod | StreamMethod;

/** Every method of the services by its path. */
export function servedMethods(options: ServiceOptions): ReadonlyMap<string, ServedMethod> {
  const { server, compression } = options;
  const { Check, ...health } = healthMethods(server);
  const late = new LateMethods<DescribedMethods>(async () =>
    (await import('./described-methods.js')).describedMethods(server),
  );
  const reflection = { ServerReflectionInfo: late.stream((methods) => methods.ServerReflectionInfo) };
  const services: Readonly<Record<string, Readonly<Record<string, ServedMethod>>>> = {
    'inference.GRPCInferenceService': {
      ...health,
      ModelInfer: modelInferMethod(options, compression),
      ModelStreamInfer: modelStreamInferMethod(options, compression),
      ServerMetadata: late.unary((methods) => methods.ServerMetadata),
      ModelMetadata: late.unary((methods) => methods.ModelMetadata),
      ModelConfig: late.unary((methods) => methods.ModelConfig),
      ModelStatistics: late.unary((methods) => methods.ModelStatistics),
      RepositoryIndex: late.unary((methods) => methods.RepositoryIndex),
      RepositoryModelLoad: late.unary((methods) => methods.RepositoryModelLoad, true),
      RepositoryModelUnload: late.unary((methods) => methods.RepositoryModelUnload),
      SystemSharedMemoryStatus: late.unary((methods) => methods.SystemSharedMemoryStatus),
      SystemSharedMemoryRegister: late.unary((methods) => methods.SystemSharedMemoryRegister),
      SystemSharedMemoryUnregister: late.unary((methods) => methods.SystemSharedMemoryUnregister),
      CudaSharedMemoryStatus: late.unary((methods) => methods.CudaSharedMemoryStatus),
      CudaSharedMemoryRegister: late.unary((methods) => methods.CudaSharedMemoryRegister),
      CudaSharedMemoryUnregister: late.unary((methods) => methods.CudaSharedMemoryUnregister),
      TraceSetting: late.unary((methods) => methods.TraceSetting),
      LogSettings: late.unary((methods) => methods.LogSettings),
    },
    'grpc.health.v1.Health': { Check, Watch: healthWatchMethod(server) },
    'grpc.reflection.v1.ServerReflection': reflection,
    'grpc.reflection.v1alpha.ServerReflection': reflection,
  };
  return new Map(
    Object.entries(services).flatMap(([service, methods]) =>
      Object.entries(methods).map(([name, method]) => [`/${service}/${name}`, limited(name, method)] as const),
    ),
  );
}

/** Only tensors are large. */
function limited(name: string, method: ServedMethod): ServedMethod {
  return name === 'ModelInfer' || name === 'ModelStreamInfer'
    ? method
    : { ...method, maxMessageSize: REQUEST_LIMITS.controlBytes };
}

/** Whether a method is one of streams. */
export function isStreaming(method: ServedMethod): method is StreamMethod {
  return 'open' in method;
}
