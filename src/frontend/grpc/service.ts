// The methods that are served, by path.

import type { DescService } from '@bufbuild/protobuf';

import { TritonError } from '../../errors.js';
import { file_grpc_service, GRPCInferenceService } from '../../protocol/grpc/generated/grpc_service_pb.js';
import { file_health, Health } from '../../protocol/grpc/generated/health_pb.js';
import { file_reflection_v1, ServerReflection } from '../../protocol/grpc/generated/reflection_v1_pb.js';
import {
  file_reflection_v1alpha,
  ServerReflection as ServerReflectionAlpha,
} from '../../protocol/grpc/generated/reflection_v1alpha_pb.js';
import type { CompressionLevel } from '../../protocol/grpc/message-compression.js';
import { Reflection } from '../../protocol/grpc/reflection.js';
import { controlMethods } from './control-methods.js';
import { healthWatchMethod } from './health-watch-method.js';
import type { InferMethodOptions } from './infer-requests.js';
import { managementMethods } from './management-methods.js';
import { modelInferMethod } from './model-infer-method.js';
import { modelStreamInferMethod } from './model-stream-infer-method.js';
import { reflectionMethod } from './reflection-method.js';
import type { ControlledCore, ServedCore } from './served-core.js';
import type { StreamMethod } from './stream-call.js';
import type { UnaryMethod } from './unary-call.js';

export interface ServiceOptions extends InferMethodOptions {
  readonly server: ServedCore & ControlledCore;
  /** How answers of inference are compressed. */
  readonly compression: CompressionLevel;
}

export type ServedMethod = UnaryMethod | StreamMethod;

const SERVICES: readonly DescService[] = [GRPCInferenceService, Health, ServerReflection, ServerReflectionAlpha];
const FILES = [file_grpc_service, file_health, file_reflection_v1, file_reflection_v1alpha];

/** Every method of the services by its path. Methods that exist in the protocol but not here say so. */
export function servedMethods(options: ServiceOptions): ReadonlyMap<string, ServedMethod> {
  const { server, compression } = options;
  const served: Readonly<Record<string, ServedMethod>> = {
    ...managementMethods(server),
    ...controlMethods(server),
    ModelInfer: modelInferMethod(options, compression),
    ModelStreamInfer: modelStreamInferMethod(options, compression),
    Watch: healthWatchMethod(server),
    ServerReflectionInfo: reflectionMethod(new Reflection(FILES)),
  };
  const methods = new Map<string, ServedMethod>();
  for (const service of SERVICES) {
    for (const { name } of service.methods)
      methods.set(`/${service.typeName}/${name}`, served[name] ?? notSupported(name));
  }
  return methods;
}

/** Whether a method is one of streams. */
export function isStreaming(method: ServedMethod): method is StreamMethod {
  return 'open' in method;
}

function notSupported(name: string): UnaryMethod {
  return {
    waits: false,
    serve() {
      throw new TritonError('UNSUPPORTED', `${name} is not supported by this version of TSTriton`);
    },
  };
}
