// The methods that describe the server and its models. Health is in health-methods.ts.

import { fromJson, type JsonValue } from '@bufbuild/protobuf';

import { decodeModelReference, type ModelReference } from '../../protocol/grpc/decode-model-reference.js';
import { GRPCInferenceService } from '../../protocol/grpc/generated/grpc_service_pb.js';
import { DESCRIPTIONS } from '../descriptions.js';
import { whenHere, type Later, type ServedCore } from '../served-core.js';
import { describedMethod, type UnaryName } from './described-method.js';
import type { UnaryMethod } from './unary-call.js';

/** The methods by name. Their requests are empty or name a model and a version. */
export function metadataMethods(server: ServedCore) {
  return {
    ServerMetadata: method('serverMetadata', () => DESCRIPTIONS['server metadata'](server)),
    ModelMetadata: method('modelMetadata', ({ name, version }) =>
      DESCRIPTIONS['model metadata'](server, name, version),
    ),
    ModelConfig: method('modelConfig', ({ name, version }) => ({
      config: DESCRIPTIONS['model config'](server, name, version),
    })),
    ModelStatistics: method('modelStatistics', ({ name, version }) => DESCRIPTIONS.statistics(server, name, version)),
  };
}

function method(name: UnaryName, describe: (request: ModelReference) => Later<object>): UnaryMethod {
  const { output } = GRPCInferenceService.method[name];
  return describedMethod(name, decodeModelReference, (request) =>
    whenHere(describe(request), (json) => fromJson(output, json as JsonValue)),
  );
}
