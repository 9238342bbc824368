// The engine's figures, from which the metrics are made.

import type { ResponseCache } from '../core/cache/response-cache.js';
import type { InferenceStatistics } from '../core/scheduler/statistics.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';

/** A loaded version of a model. */
export interface MeasuredModel {
  readonly config: Pick<CompleteModelConfig, 'name' | 'version' | 'decoupled' | 'responseCache' | 'sequenceBatching'>;
  readonly statistics: InferenceStatistics;
  readonly inflight: number;
  readonly instances: number;
}

export interface MeasuredMetrics {
  readonly models: readonly MeasuredModel[];
  /** Undefined when the server has no cache. */
  readonly cache: Pick<ResponseCache, 'byteSize' | 'capacity' | 'size' | 'usage'> | undefined;
}
