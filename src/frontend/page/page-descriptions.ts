// Makes the page's own answers from the engine: the declarations of the models, and the figures of their charts.

import type { Histogram } from '../../core/metrics/histogram.js';
import type { CompleteModelConfig, CompleteTensorSpec } from '../../model/complete-model-config.js';
import type { MeasuredModel } from '../measured-metrics.js';
import { type Later, type ServedCore, whenHere } from '../served-core.js';
import type {
  BucketsJson,
  DeclaredJson,
  DeclaredTensorJson,
  FiguresJson,
  PageFiguresJson,
  PageModelsJson,
} from './page-json.js';

export function describeModels(
  server: ServedCore,
  grpcPort: number | undefined,
  { reasons }: { readonly reasons: boolean },
): Later<PageModelsJson> {
  return whenHere(server.models.index(false), (index) => ({
    server: { name: server.name, version: server.version, ...(grpcPort !== undefined && { grpcPort }) },
    versions: index.flatMap(({ name, version, state, reason }) => {
      if (state === '') return [];
      const declared = state === 'READY' ? declaredOf(server, name, version) : undefined;
      return [
        {
          name,
          version,
          state,
          ...(reasons && reason !== '' && { reason }),
          ...(declared !== undefined && { declared }),
        },
      ];
    }),
  }));
}

/** Also while the server stops: it may still take requests, and answers those under way. Undefined for a version that is gone by now. */
function declaredOf(server: ServedCore, name: string, version: string): DeclaredJson | undefined {
  try {
    return declaredJson(server.resolve(name, version).config);
  } catch {
    return undefined;
  }
}

function declaredJson(config: CompleteModelConfig): DeclaredJson {
  const { description, inputs, outputs, maxBatchSize, decoupled, sequenceBatching, instanceCount, route, openai } =
    config;
  return {
    ...(description !== undefined && { description }),
    inputs: inputs.map(tensorJson),
    outputs: outputs.map(tensorJson),
    maxBatchSize,
    decoupled,
    sequences: sequenceBatching !== undefined,
    instanceCount,
    ...(route !== undefined && { route }),
    ...(openai !== undefined && { openai }),
  };
}

function tensorJson(spec: CompleteTensorSpec): DeclaredTensorJson {
  const { name, dtype, datatype, shape, optional, labels, contentEncoding, description, boxes } = spec;
  return {
    name,
    dtype,
    datatype,
    shape,
    optional,
    ...(labels !== undefined && { labels }),
    ...(contentEncoding !== undefined && { contentEncoding }),
    ...(description !== undefined && { description }),
    ...(boxes !== undefined && { boxes }),
  };
}

export function measureFigures(server: Pick<ServedCore, 'measure'>): PageFiguresJson {
  const { models, cache } = server.measure();
  return {
    now: performance.now(),
    versions: models.map(figuresJson),
    ...(cache !== undefined && { cache: { bytes: cache.byteSize, capacity: cache.capacity, entries: cache.size } }),
  };
}

function figuresJson({ config, statistics, inflight, instances }: MeasuredModel): FiguresJson {
  const { success, fail, refusals, pending, executionCount, inferenceCount, cacheHit, cacheMiss } = statistics;
  return {
    name: config.name,
    version: String(config.version),
    success: success.count,
    fail: fail.count,
    refused: [...refusals.values()].reduce((sum, count) => sum + count, 0),
    pending,
    inflight,
    instances,
    busyMs: Math.round(statistics.busyMs),
    executions: executionCount,
    rows: inferenceCount,
    cacheHits: cacheHit.count,
    cacheMisses: cacheMiss.count,
    latency: bucketsJson(statistics.requestDuration),
    wait: bucketsJson(statistics.queueWait),
  };
}

function bucketsJson({ bounds, counts }: Histogram): BucketsJson {
  return { bounds, counts };
}
