// Makes the statistics extension's answer: GET /v2/models/stats and …/stats of a model.

import type { BatchStatistics, ModelStatistics, ResponseStatistics } from '../model/model-statistics.js';

export function statisticsJson(models: readonly ModelStatistics[]): object {
  return { model_stats: models.map(modelStatisticsJson) };
}

function modelStatisticsJson(model: ModelStatistics): object {
  return {
    name: model.name,
    version: model.version,
    last_inference: model.lastInference,
    inference_count: model.inferenceCount,
    execution_count: model.executionCount,
    inference_stats: {
      success: model.success,
      fail: model.fail,
      queue: model.queue,
      compute_input: model.computeInput,
      compute_infer: model.computeInfer,
      compute_output: model.computeOutput,
      cache_hit: model.cacheHit,
      cache_miss: model.cacheMiss,
    },
    response_stats: Object.fromEntries(model.responseStats.map((response, index) => [index, responseJson(response)])),
    batch_stats: model.batchStats.map(batchJson),
    memory_usage: [],
  };
}

function responseJson(response: ResponseStatistics): object {
  return {
    compute_infer: response.computeInfer,
    compute_output: response.computeOutput,
    success: response.success,
    fail: response.fail,
    empty_response: response.emptyResponse,
    cancel: response.cancel,
  };
}

function batchJson(batch: BatchStatistics): object {
  return {
    batch_size: batch.batchSize,
    compute_input: batch.computeInput,
    compute_infer: batch.computeInfer,
    compute_output: batch.computeOutput,
  };
}
