// The methods whose messages are made from protobuf descriptors. Only `service.ts` imports this module, and late: see
// late-methods.ts.

import { file_grpc_service } from '../../protocol/grpc/generated/grpc_service_pb.js';
import { file_health } from '../../protocol/grpc/generated/health_pb.js';
import { file_reflection_v1 } from '../../protocol/grpc/generated/reflection_v1_pb.js';
import { file_reflection_v1alpha } from '../../protocol/grpc/generated/reflection_v1alpha_pb.js';
import { Reflection } from '../../protocol/grpc/reflection.js';
import { controlMethods } from './control-methods.js';
import { metadataMethods } from './metadata-methods.js';
import { reflectionMethod } from './reflection-method.js';
import type { ServedCore } from '../served-core.js';

const FILES = [file_grpc_service, file_health, file_reflection_v1, file_reflection_v1alpha];

/** The methods by name. */
export function describedMethods(server: ServedCore) {
  return {
    ...metadataMethods(server),
    ...controlMethods(server),
    ServerReflectionInfo: reflectionMethod(new Reflection(FILES)),
  };
}

export type DescribedMethods = ReturnType<typeof describedMethods>;
