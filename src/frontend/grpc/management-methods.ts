// The methods that describe the server and its models. All of them answer at once. Health is in health-methods.ts.

import { create, toBinary, type DescMessage, type MessageInitShape } from '@bufbuild/protobuf';

import type { StatisticDuration } from '../../core/duration.js';
import type { ResponseStatistics } from '../../core/response-statistics.js';
import type { ModelStatistics } from '../../core/statistics.js';
import type { CompleteTensorSpec } from '../../model/complete-model-config.js';
import { decodeModelReference, type ModelReference } from '../../protocol/grpc/decode-model-reference.js';
import {
  ModelConfigResponseSchema,
  ModelMetadataResponseSchema,
  ModelStatisticsResponseSchema,
  ServerMetadataResponseSchema,
} from '../../protocol/grpc/generated/grpc_service_pb.js';
import { frameMessage } from '../../protocol/grpc/message-frame.js';
import { modelConfigMessage } from '../../protocol/grpc/model-config-message.js';
import { BACKEND } from '../../protocol/model-config-json.js';
import type { ServedCore } from './served-core.js';
import type { UnaryMethod } from './unary-call.js';

/** The methods by name. Their requests are empty or name a model and a version. */
export function managementMethods(server: ServedCore) {
  return {
    ServerMetadata: method(ServerMetadataResponseSchema, () => ({
      name: server.name,
      version: server.version,
      extensions: [...server.extensions],
    })),
    ModelMetadata: method(ModelMetadataResponseSchema, ({ name, version }) => {
      const { config, versions } = server.modelMetadata(name, version);
      const describe = ({ name: tensor, datatype, shape }: CompleteTensorSpec) => ({
        name: tensor,
        datatype,
        shape: (config.maxBatchSize > 0 ? [-1, ...shape] : shape).map(BigInt),
      });
      return {
        name: config.name,
        versions: [...versions],
        platform: BACKEND,
        inputs: config.inputs.map(describe),
        outputs: config.outputs.map(describe),
      };
    }),
    ModelConfig: method(ModelConfigResponseSchema, ({ name, version }) => ({
      config: modelConfigMessage(server.modelConfig(name, version)),
    })),
    ModelStatistics: method(ModelStatisticsResponseSchema, ({ name, version }) => ({
      modelStats: server.statistics(name, version).map(statisticsMessage),
    })),
  };
}

function method<Schema extends DescMessage>(
  schema: Schema,
  answer: (request: ModelReference) => MessageInitShape<Schema>,
): UnaryMethod {
  return {
    waits: false,
    serve(message, caller) {
      const response = create(schema, answer(decodeModelReference(message)));
      caller.succeed([frameMessage(toBinary(schema, response))]);
      return undefined;
    },
  };
}

function statisticsMessage(model: ModelStatistics) {
  return {
    name: model.name,
    version: model.version,
    lastInference: BigInt(model.lastInference),
    inferenceCount: BigInt(model.inferenceCount),
    executionCount: BigInt(model.executionCount),
    inferenceStats: {
      success: durationMessage(model.success),
      fail: durationMessage(model.fail),
      queue: durationMessage(model.queue),
      computeInput: durationMessage(model.computeInput),
      computeInfer: durationMessage(model.computeInfer),
      computeOutput: durationMessage(model.computeOutput),
      cacheHit: durationMessage(model.cacheHit),
      cacheMiss: durationMessage(model.cacheMiss),
    },
    responseStats: Object.fromEntries(model.responseStats.map((response, index) => [index, responseMessage(response)])),
    batchStats: model.batchStats.map(({ batchSize, computeInput, computeInfer, computeOutput }) => ({
      batchSize: BigInt(batchSize),
      computeInput: durationMessage(computeInput),
      computeInfer: durationMessage(computeInfer),
      computeOutput: durationMessage(computeOutput),
    })),
  };
}

function responseMessage(response: ResponseStatistics) {
  return {
    computeInfer: durationMessage(response.computeInfer),
    computeOutput: durationMessage(response.computeOutput),
    success: durationMessage(response.success),
    fail: durationMessage(response.fail),
    emptyResponse: durationMessage(response.emptyResponse),
    cancel: durationMessage(response.cancel),
  };
}

function durationMessage({ count, ns }: StatisticDuration) {
  return { count: BigInt(count), ns: BigInt(ns) };
}
