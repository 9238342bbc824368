// The table of served methods; a new method is an entry in it. It has one entry for each method of the services. A missing entry,
// or one of another kind, does not compile.

import { REQUEST_LIMITS } from '../../model/request-limits.js';
import type { CompressionLevel } from '../../protocol/grpc/message-compression.js';
import type { UnaryName } from '../../protocol/grpc/service-methods.js';
import type { InferOptions } from '../complete-request.js';
import type { Category } from '../restricted-features.js';
import type { ServedCore } from '../served-core.js';
import type { DescribedMethods } from './described-methods.js';
import { healthMethods } from './health-methods.js';
import { healthWatchMethod } from './health-watch-method.js';
import { LateMethods } from './late-methods.js';
import { modelInferMethod } from './model-infer-method.js';
import { modelStreamInferMethod } from './model-stream-infer-method.js';
import type { StreamMethod } from './stream-call.js';
import type { UnaryMethod } from './unary-call.js';

export interface ServiceOptions extends InferOptions {
  readonly server: ServedCore;
  /** How answers of inference are compressed. */
  readonly compression: CompressionLevel;
  /** Most bytes that the server holds for one request. Default: any number. */
  readonly largestRequest?: number | undefined;
  /** Methods beside Triton's by their paths, for other processes that bind models. */
  readonly links?: ReadonlyMap<string, StreamMethod> | undefined;
}

/** A method, with the category that operators restrict it by (Triton's restricted_features.h). */
type Entry<Method, Restricted = Category> = readonly [category: Restricted, method: Method];

interface Services {
  readonly 'inference.GRPCInferenceService': Readonly<Record<UnaryName, Entry<UnaryMethod>>> & {
    readonly ModelStreamInfer: Entry<StreamMethod>;
  };
  readonly 'grpc.health.v1.Health': { readonly Check: Entry<UnaryMethod>; readonly Watch: Entry<StreamMethod> };
  readonly 'grpc.reflection.v1.ServerReflection': ReflectionService;
  readonly 'grpc.reflection.v1alpha.ServerReflection': ReflectionService;
}

interface ReflectionService {
  readonly ServerReflectionInfo: Entry<StreamMethod, undefined>;
}

function servicesOf(options: ServiceOptions) {
  const { server, compression, largestRequest } = options;
  const health = healthMethods(server);
  const late = new LateMethods<DescribedMethods>(async () =>
    (await import('./described-methods.js')).describedMethods(server),
  );
  const reflection = { ServerReflectionInfo: [undefined, late.stream((all) => all.ServerReflectionInfo)] } as const;
  return {
    'inference.GRPCInferenceService': {
      ServerLive: ['health', health.ServerLive],
      ServerReady: ['health', health.ServerReady],
      ModelReady: ['health', health.ModelReady],
      ServerMetadata: ['metadata', late.unary((all) => all.ServerMetadata)],
      ModelMetadata: ['metadata', late.unary((all) => all.ModelMetadata)],
      ModelInfer: ['inference', modelInferMethod(options, compression)],
      ModelStreamInfer: ['inference', modelStreamInferMethod(options, compression, largestRequest)],
      ModelConfig: ['model-config', late.unary((all) => all.ModelConfig)],
      ModelStatistics: ['statistics', late.unary((all) => all.ModelStatistics)],
      RepositoryIndex: ['model-repository', late.unary((all) => all.RepositoryIndex)],
      RepositoryModelLoad: ['model-repository', late.unary((all) => all.RepositoryModelLoad, true)],
      RepositoryModelUnload: ['model-repository', late.unary((all) => all.RepositoryModelUnload)],
      SystemSharedMemoryStatus: ['shared-memory', late.unary((all) => all.SystemSharedMemoryStatus)],
      SystemSharedMemoryRegister: ['shared-memory', late.unary((all) => all.SystemSharedMemoryRegister)],
      SystemSharedMemoryUnregister: ['shared-memory', late.unary((all) => all.SystemSharedMemoryUnregister)],
      CudaSharedMemoryStatus: ['shared-memory', late.unary((all) => all.CudaSharedMemoryStatus)],
      CudaSharedMemoryRegister: ['shared-memory', late.unary((all) => all.CudaSharedMemoryRegister)],
      CudaSharedMemoryUnregister: ['shared-memory', late.unary((all) => all.CudaSharedMemoryUnregister)],
      TraceSetting: ['trace', late.unary((all) => all.TraceSetting)],
      LogSettings: ['logging', late.unary((all) => all.LogSettings)],
    },
    'grpc.health.v1.Health': {
      Check: ['health', health.Check],
      Watch: ['health', healthWatchMethod(server)],
    },
    'grpc.reflection.v1.ServerReflection': reflection,
    'grpc.reflection.v1alpha.ServerReflection': reflection,
  } as const satisfies Services;
}

export interface ServedMethod {
  readonly method: UnaryMethod | StreamMethod;
  readonly category: Category | undefined;
  /** Undefined: the operator's limit applies. */
  readonly maxMessageSize: number | undefined;
}

/** Every method of the services by its path. */
export function servedMethods(options: ServiceOptions): ReadonlyMap<string, ServedMethod> {
  type AnyEntry = Entry<UnaryMethod | StreamMethod, Category | undefined>;
  const services: Readonly<Record<string, Readonly<Record<string, AnyEntry>>>> = servicesOf(options);
  const methods = new Map<string, ServedMethod>();
  for (const [service, entries] of Object.entries(services)) {
    for (const [name, [category, method]] of Object.entries(entries)) {
      // Only tensors and the files of models are large.
      const isLarge = category === 'inference' || name === ('RepositoryModelLoad' satisfies UnaryName);
      const maxMessageSize = isLarge ? undefined : REQUEST_LIMITS.controlBytes;
      methods.set(`/${service}/${name}`, { method, category, maxMessageSize });
    }
  }
  for (const [path, method] of options.links ?? []) {
    methods.set(path, { method, category: undefined, maxMessageSize: method.maxMessageSize });
  }
  return methods;
}

/** Whether a method takes and gives streams of messages. */
export function isStreaming(method: UnaryMethod | StreamMethod): method is StreamMethod {
  return 'open' in method;
}
