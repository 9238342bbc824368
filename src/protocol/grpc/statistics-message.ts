// ModelStatistics of the gRPC service: the answer of the statistics extension.

import type { MessageInitShape } from '@bufbuild/protobuf';

import type { ModelStatistics, ResponseStatistics, StatisticDuration } from '../../model/model-statistics.js';
import type { ModelStatisticsSchema } from './generated/grpc_service_pb.js';

export function statisticsMessage(model: ModelStatistics): MessageInitShape<typeof ModelStatisticsSchema> {
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
