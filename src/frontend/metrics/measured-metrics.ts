// What metrics see of the engine.

import type { ResponseCache } from '../../core/cache/response-cache.js';
import type { InferenceStatistics } from '../../core/statistics.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';

/** A loaded version of a model. */
export interface MeasuredModel {
  readonly config: Pick<CompleteModelConfig, 'name' | 'version' | 'decoupled' | 'responseCache'>;
  readonly statistics: InferenceStatistics;
  readonly inflight: number;
  readonly instances: number;
}

export interface MeasuredMetrics {
  readonly models: readonly MeasuredModel[];
  /** Undefined when the server has none. */
  readonly cache: Pick<ResponseCache, 'byteSize' | 'capacity' | 'size' | 'usage'> | undefined;
}

export function modelLabels({ config }: MeasuredModel): readonly (readonly [string, string])[] {
  return [
    ['model', config.name],
    ['version', String(config.version)],
  ];
}
