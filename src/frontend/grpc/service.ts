// The methods that are served, by path.

import { TritonError } from '../../errors.js';
import { GRPCInferenceService } from '../../protocol/grpc/generated/grpc_service_pb.js';
import { Health } from '../../protocol/grpc/generated/health_pb.js';
import { managementMethods } from './management-methods.js';
import { modelInferMethod } from './model-infer-method.js';
import type { ServedCore } from './served-core.js';
import type { UnaryMethod } from './unary-call.js';

/** Every method of the services by its path. Methods that exist in the protocol but not here say so. */
export function servedMethods(server: ServedCore): ReadonlyMap<string, UnaryMethod> {
  const methods = new Map<string, UnaryMethod>();
  const served: Readonly<Record<string, UnaryMethod>> = {
    ...managementMethods(server),
    ModelInfer: modelInferMethod(server),
  };
  for (const service of [GRPCInferenceService, Health]) {
    for (const { name } of service.methods)
      methods.set(`/${service.typeName}/${name}`, served[name] ?? notSupported(name));
  }
  return methods;
}

function notSupported(name: string): UnaryMethod {
  return {
    waits: false,
    serve() {
      throw new TritonError('UNSUPPORTED', `${name} is not supported by this version of TSTriton`);
    },
  };
}
