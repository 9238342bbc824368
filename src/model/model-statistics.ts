// Declares a model's entry of the statistics extension: counts, and durations with their counts.

export interface StatisticDuration {
  readonly count: number;
  readonly ns: number;
}

export interface ResponseStatistics {
  /** From the response before, or the beginning of the execution, to this response. */
  readonly computeInfer: StatisticDuration;
  /** Handing it to the client's connection. */
  readonly computeOutput: StatisticDuration;
  /** Both together, of responses that were sent. */
  readonly success: StatisticDuration;
  /** The request failed instead of giving this response. */
  readonly fail: StatisticDuration;
  /** The request ended here, with the final flag alone. */
  readonly emptyResponse: StatisticDuration;
  /** The client was gone before this response. */
  readonly cancel: StatisticDuration;
}

export interface BatchStatistics {
  readonly batchSize: number;
  readonly computeInput: StatisticDuration;
  readonly computeInfer: StatisticDuration;
  readonly computeOutput: StatisticDuration;
}

/** One entry of the statistics extension's `model_stats`. */
export interface ModelStatistics {
  readonly name: string;
  readonly version: string;
  /** Wall-clock milliseconds since the epoch of the last execution; 0 when there was none. */
  readonly lastInference: number;
  /** Rows answered successfully by executions. */
  readonly inferenceCount: number;
  readonly executionCount: number;
  readonly success: StatisticDuration;
  readonly fail: StatisticDuration;
  readonly queue: StatisticDuration;
  readonly computeInput: StatisticDuration;
  readonly computeInfer: StatisticDuration;
  readonly computeOutput: StatisticDuration;
  readonly cacheHit: StatisticDuration;
  readonly cacheMiss: StatisticDuration;
  /** Of decoupled models, by the index of a response within its request; else empty. */
  readonly responseStats: readonly ResponseStatistics[];
  /** Ascending by batch size. */
  readonly batchStats: readonly BatchStatistics[];
}
