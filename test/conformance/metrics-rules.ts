// Where answers of the metrics port differ from Triton's on purpose.
import { errorAnswer, withText } from './http-text.js';
import type { HttpAnswer, HttpRule } from './replay-http.js';
import { familiesOf, isOnMetricsPort, textOf } from './replay-metrics.js';

function isMetricsText(answer: HttpAnswer): boolean {
  return answer.body.toString().startsWith('# HELP ');
}

function without(answer: HttpAnswer, absent: (name: string) => boolean): HttpAnswer | undefined {
  if (!isMetricsText(answer)) return undefined;
  return withText(answer, (text) => textOf(familiesOf(text).filter(({ name }) => !absent(name))));
}

/** Of a later Triton, or of ours. */
function isBeyond(name: string): boolean {
  return (
    name.startsWith('tstriton_') ||
    ['nv_model_load_duration_secs', 'nv_inference_first_response_histogram_ms'].includes(name)
  );
}

function change(answer: HttpAnswer, series: string, from: number, to: number): HttpAnswer | undefined {
  return isMetricsText(answer)
    ? withText(answer, (text) => text.replace(`${series} ${from}\n`, `${series} ${to}\n`))
    : undefined;
}

export const METRICS_RULES: readonly HttpRule[] = [
  {
    name: 'no pinned memory',
    reason: 'Memory for copies to a GPU, which this server never makes; Triton shows it as 0 without a GPU.',
    cases: [
      'plain: before any request',
      'plain: after the sequence',
      'plain: get /metrics/',
      'plain: get /metrics?x=1',
      'plain: Accept OpenMetrics',
      'plain: Accept-Encoding gzip',
      'full: before any request',
      'full: after the sequence',
    ],
    expects: (recorded) => without(recorded, (name) => name.startsWith('nv_pinned_memory_pool_')),
  },
  {
    name: 'errors of a model are failures',
    reason:
      'An error that the Python backend answers with counts as a success in Triton, one that it raises as a failure.',
    cases: [
      'plain: after the sequence',
      'plain: get /metrics/',
      'plain: get /metrics?x=1',
      'plain: Accept OpenMetrics',
      'plain: Accept-Encoding gzip',
      'full: after the sequence',
    ],
    expects: (recorded) => {
      const labels = '{model="throws",version="1"}';
      const fewer = change(recorded, `nv_inference_request_success${labels}`, 2, 1);
      if (fewer === undefined) return undefined;
      const counted = change(fewer, `nv_inference_count${labels}`, 2, 1) ?? fewer;
      return (
        change(counted, 'nv_inference_request_failure{model="throws",reason="BACKEND",version="1"}', 1, 2) ?? counted
      );
    },
  },
  {
    name: 'unknown paths of the metrics port are not found',
    reason: 'Triton answers them with 200 and nothing, so that a misspelt path looks like a server without metrics.',
    cases: [
      'plain: get /',
      'plain: get /nope',
      'plain: get /v2',
      'plain: get /v2/health/live',
      'plain: get /metrics/x',
      'plain: get /Metrics',
      'plain: get //metrics',
    ],
    expects: (recorded, testCase) =>
      isOnMetricsPort(testCase) && recorded.status === 200 && recorded.body.length === 0
        ? errorAnswer(404, 'Not Found')
        : undefined,
  },
  {
    name: 'more metrics',
    reason:
      'Those of this server have the prefix `tstriton_`; `nv_model_load_duration_secs` and, with `histogram_latencies=true`, `nv_inference_first_response_histogram_ms` are of a Triton later than the recorded one.',
    cases: [
      'plain: before any request',
      'plain: after the sequence',
      'plain: get /metrics/',
      'plain: get /metrics?x=1',
      'plain: Accept OpenMetrics',
      'plain: Accept-Encoding gzip',
      'full: before any request',
      'full: after the sequence',
    ],
    allows: (ours, recorded) => without(ours, isBeyond)?.body.equals(recorded.body) === true,
  },
];
