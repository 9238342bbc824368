// The methods that describe the server and its models. Health is in health-methods.ts.

import type { DescMessage, MessageInitShape } from '@bufbuild/protobuf';

import { decodeModelReference, type ModelReference } from '../../protocol/grpc/decode-model-reference.js';
import {
  ModelConfigResponseSchema,
  ModelMetadataResponseSchema,
  ModelStatisticsResponseSchema,
  ServerMetadataResponseSchema,
} from '../../protocol/grpc/generated/grpc_service_pb.js';
import { modelConfigMessage } from '../../protocol/grpc/model-config-message.js';
import { statisticsMessage } from '../../protocol/grpc/statistics-message.js';
import { modelMetadata, type TensorMetadata } from '../../protocol/model-metadata.js';
import { whenHere, type Later, type ServedCore } from '../served-core.js';
import { describedMethod } from './described-method.js';
import type { UnaryMethod } from './unary-call.js';

/** The methods by name. Their requests are empty or name a model and a version. */
export function metadataMethods(server: ServedCore) {
  return {
    ServerMetadata: method(ServerMetadataResponseSchema, () => ({
      name: server.name,
      version: server.version,
      extensions: [...server.extensions],
    })),
    ModelMetadata: method(ModelMetadataResponseSchema, ({ name, version }) => {
      const { config, versions } = server.modelMetadata(name, version);
      const metadata = modelMetadata(config, versions);
      const inputs = metadata.inputs.map(tensorMessage);
      return { ...metadata, versions: [...versions], inputs, outputs: metadata.outputs.map(tensorMessage) };
    }),
    ModelConfig: method(ModelConfigResponseSchema, ({ name, version }) => ({
      config: modelConfigMessage(server.resolve(name, version).config),
    })),
    ModelStatistics: method(ModelStatisticsResponseSchema, ({ name, version }) =>
      whenHere(server.statistics(name, version), (models) => ({ modelStats: models.map(statisticsMessage) })),
    ),
  };
}

function tensorMessage({ name, datatype, shape }: TensorMetadata) {
  return { name, datatype, shape: shape.map(BigInt) };
}

function method<Schema extends DescMessage>(
  schema: Schema,
  answer: (request: ModelReference) => Later<MessageInitShape<Schema>>,
): UnaryMethod {
  return describedMethod(decodeModelReference, schema, answer);
}
