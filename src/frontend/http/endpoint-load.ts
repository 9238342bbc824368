// ORCA: a load balancer asks for the load of the endpoint with the answer to an inference. As Triton does (server/src/orca_http.cc),
// the server reads it from one family of metrics, which the backend of TensorRT-LLM records there, and callables record here.

import type { HttpHeaders, HttpRequest } from '../../http1/http-exchange.js';
import type { MeasuredModel } from '../measured-metrics.js';
import type { ServedCore } from '../served-core.js';

const FORMAT = 'endpoint-load-metrics-format';
const FAMILY = 'nv_trt_llm_kv_cache_block_metrics';
const BLOCK_TYPE = 'kv_cache_block_type';

interface Load {
  /** Used blocks of all, 0 … 1. */
  readonly utilization: number;
  readonly tokens: number;
}

/** Makes the header for an answer of a model. */
export type EndpointLoad = (server: Pick<ServedCore, 'measure'>, model: string) => HttpHeaders;

/** For requests with this head; undefined: they ask for no format of Triton's. The header is absent when no model records the metrics. */
export function endpointLoad(request: Pick<HttpRequest, 'header'>): EndpointLoad | undefined {
  const format = request.header(FORMAT);
  if (format !== 'text' && format !== 'json') return undefined;
  return (server, model) => {
    const { models } = server.measure();
    // That of a model behind a pipeline counts for the pipeline.
    const load = loadOf(models.filter(({ config }) => config.name === model)) ?? loadOf(models);
    return load === undefined ? [] : ['endpoint-load-metrics', FORMATS[format](load)];
  };
}

const FORMATS = {
  text: ({ utilization, tokens }: Load) =>
    `TEXT named_metrics.kv_cache_utilization=${utilization.toFixed(6)}, named_metrics.max_token_capacity=${tokens}`,
  json: ({ utilization, tokens }: Load) =>
    `JSON {"named_metrics":{"kv_cache_utilization":${decimal(utilization)},"max_token_capacity":${tokens}}}`,
};

/** As Triton writes numbers that are not integers by their type. */
function decimal(value: number): string {
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}

/** Undefined: no model has recorded all that it takes. */
function loadOf(models: readonly MeasuredModel[]): Load | undefined {
  for (const { statistics } of models) {
    const blocks = new Map<string, number>();
    for (const { metric, series } of statistics.custom.list()) {
      const at = metric.name === FAMILY ? metric.labels.indexOf(BLOCK_TYPE) : -1;
      if (at >= 0) for (const { labels, value } of series) blocks.set(labels[at]!, value);
    }
    const [used = -1, max = -1, perBlock = -1] = ['used', 'max', 'tokens_per'].map((type) => blocks.get(type));
    const tokens = Math.trunc(max * perBlock);
    if (Math.min(used, max, perBlock) >= 0 && Number.isSafeInteger(tokens)) {
      return { utilization: max === 0 ? 0 : used / max, tokens };
    }
  }
  return undefined;
}
