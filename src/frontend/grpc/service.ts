// The methods that are served, by path: a new one is an entry in the table below, and its making.

import { REQUEST_LIMITS } from '../../model/request-limits.js';
import type { CompressionLevel } from '../../protocol/grpc/message-compression.js';
import type { DescribedMethods } from './described-methods.js';
import { healthMethods } from './health-methods.js';
import { healthWatchMethod } from './health-watch-method.js';
import type { InferOptions } from '../complete-request.js';
import { LateMethods } from './late-methods.js';
import { modelInferMethod } from './model-infer-method.js';
import { modelStreamInferMethod } from './model-stream-infer-method.js';
import type { Category } from '../restricted-features.js';
import type { ServedCore } from '../served-core.js';
import type { StreamMethod } from './stream-call.js';
import type { UnaryMethod } from './unary-call.js';

export interface ServiceOptions extends InferOptions {
  readonly server: ServedCore;
  /** How answers of inference are compressed. */
  readonly compression: CompressionLevel;
  /** More bytes nobody may have the server hold in one request. Default: any number. */
  readonly largestRequest?: number | undefined;
}

/** The services with their methods, each with the category by which it can be restricted (Triton's restricted_features.h). */
export const SERVICES: Readonly<Record<string, Readonly<Record<string, Category | undefined>>>> = {
  'inference.GRPCInferenceService': {
    ServerLive: 'health',
    ServerReady: 'health',
    ModelReady: 'health',
    ServerMetadata: 'metadata',
    ModelMetadata: 'metadata',
    ModelInfer: 'inference',
    ModelStreamInfer: 'inference',
    ModelConfig: 'model-config',
    ModelStatistics: 'statistics',
    RepositoryIndex: 'model-repository',
    RepositoryModelLoad: 'model-repository',
    RepositoryModelUnload: 'model-repository',
    SystemSharedMemoryStatus: 'shared-memory',
    SystemSharedMemoryRegister: 'shared-memory',
    SystemSharedMemoryUnregister: 'shared-memory',
    CudaSharedMemoryStatus: 'shared-memory',
    CudaSharedMemoryRegister: 'shared-memory',
    CudaSharedMemoryUnregister: 'shared-memory',
    TraceSetting: 'trace',
    LogSettings: 'logging',
  },
  'grpc.health.v1.Health': { Check: 'health', Watch: 'health' },
  'grpc.reflection.v1.ServerReflection': { ServerReflectionInfo: undefined },
  'grpc.reflection.v1alpha.ServerReflection': { ServerReflectionInfo: undefined },
};

export interface ServedMethod {
  readonly method: UnaryMethod | StreamMethod;
  readonly category: Category | undefined;
  /** Undefined: as large as the operator lets them be. */
  readonly maxMessageSize: number | undefined;
}

/** Every method of the services by its path. */
export function servedMethods(options: ServiceOptions): ReadonlyMap<string, ServedMethod> {
  const { server, compression } = options;
  const late = new LateMethods<DescribedMethods>(async () =>
    (await import('./described-methods.js')).describedMethods(server),
  );
  type UnaryName = Exclude<keyof DescribedMethods, 'ServerReflectionInfo'>;
  const methods: Readonly<Record<string, UnaryMethod | StreamMethod>> = {
    ...healthMethods(server),
    Watch: healthWatchMethod(server),
    ModelInfer: modelInferMethod(options, compression),
    ModelStreamInfer: modelStreamInferMethod(options, compression, options.largestRequest),
    RepositoryModelLoad: late.unary((all) => all.RepositoryModelLoad, true),
    ServerReflectionInfo: late.stream((all) => all.ServerReflectionInfo),
  };
  return new Map(
    Object.entries(SERVICES).flatMap(([service, categories]) =>
      Object.entries(categories).map(([name, category]): [string, ServedMethod] => {
        const method = methods[name] ?? late.unary((all) => all[name as UnaryName]);
        // Only tensors are large.
        const maxMessageSize = category === 'inference' ? undefined : REQUEST_LIMITS.controlBytes;
        return [`/${service}/${name}`, { method, category, maxMessageSize }];
      }),
    ),
  );
}

/** Whether a method is one of streams. */
export function isStreaming(method: UnaryMethod | StreamMethod): method is StreamMethod {
  return 'open' in method;
}
