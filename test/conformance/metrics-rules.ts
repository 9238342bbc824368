// Where answers of the metrics port differ from Triton's on purpose.
import type { HttpCase } from './cases.js';
import { HTTP_RULES } from './http-rules.js';
import { errorAnswer, withText } from './http-text.js';
import { withOurs } from './metrics-beyond.js';
import { familiesOf, textOf, type FamilyText } from './metrics-values.js';
import type { HttpAnswer, HttpRule } from './replay-http.js';
import { borrowed } from './rules.js';
import { listedCases } from './listed-cases.js';

const BEFORE = ['plain: before any request', 'full: before any request'];
const AFTER = [
  'plain: after the sequence',
  'plain: get /metrics/',
  'plain: get /metrics?x=1',
  'plain: Accept OpenMetrics',
  'plain: Accept-Encoding gzip',
  'full: after the sequence',
];

function changed(
  answer: HttpAnswer,
  change: (families: readonly FamilyText[]) => readonly FamilyText[],
): HttpAnswer | undefined {
  return withText(answer, (text) => textOf(change(familiesOf(text))));
}

/** Metrics with the values of these series replaced. */
function withValues(answer: HttpAnswer, values: Readonly<Record<string, number | string>>): HttpAnswer | undefined {
  return withText(answer, (text) =>
    text
      .split('\n')
      .map((line) => {
        const series = line.slice(0, line.indexOf('}') + 1);
        return Object.hasOwn(values, series) ? `${series} ${values[series]}` : line;
      })
      .join('\n'),
  );
}

function isAsked({ name }: HttpCase): boolean {
  return AFTER.includes(name);
}

const THROWS = '{model="throws",version="1"}';
const SUMMARIES = ['request', 'queue', 'compute_input', 'compute_infer', 'compute_output'].map(
  (part) => `nv_inference_${part}_summary_us_count${THROWS}`,
);

export const METRICS_RULES: readonly HttpRule[] = [
  {
    name: 'no pinned memory',
    reason: 'Memory for copies to a GPU, which this server never makes; Triton shows it as 0 without a GPU.',
    cases: [...BEFORE, ...AFTER],
    expects: (recorded) =>
      changed(recorded, (families) => families.filter(({ name }) => !name.startsWith('nv_pinned_memory_pool_'))),
  },
  {
    name: 'errors of a model are failures',
    reason:
      'An error that the Python backend answers with counts as a success in Triton, one that it raises as a failure.',
    cases: AFTER,
    expects: (recorded) =>
      withValues(recorded, {
        [`nv_inference_request_success${THROWS}`]: 1,
        [`nv_inference_count${THROWS}`]: 1,
        'nv_inference_request_failure{model="throws",reason="BACKEND",version="1"}': 2,
        ...Object.fromEntries(SUMMARIES.map((series) => [series, 1])),
      }),
  },
  {
    name: 'gauges are current',
    reason: 'Triton samples those of the cache and of the machine now and then, and shows 0 until it has.',
    cases: [...BEFORE, ...AFTER],
    expects: (recorded, testCase) =>
      withValues(recorded, {
        'nv_cpu_memory_total_bytes{}': 'bytes',
        'nv_cpu_memory_used_bytes{}': 'bytes',
        ...(isAsked(testCase) && {
          'nv_cache_num_entries{}': 2,
          'nv_cache_num_hits{}': 1,
          'nv_cache_num_misses{}': 2,
          'nv_cache_num_lookups{}': 3,
          'nv_cache_lookup_duration{}': 'a time',
          'nv_cache_insertion_duration{}': 'a time',
        }),
      }),
  },
  {
    name: 'more metrics',
    reason:
      'Those of this server have the prefix `tstriton_`; `nv_model_load_duration_secs` and, with `histogram_latencies=true`, `nv_inference_first_response_histogram_ms` are of a Triton later than the recorded one.',
    cases: [...BEFORE, ...AFTER],
    expects: (recorded, testCase) => changed(recorded, (families) => withOurs(families, isAsked(testCase))),
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
    expects: () => errorAnswer(404, 'Not Found'),
  },
  ...borrowed(HTTP_RULES, {
    'malformed JSON is the mistake of the client': [
      'plain: sequence step 4, infer on addsub',
      'full: sequence step 4, infer on addsub',
    ],
    'HEAD has no body': ['plain: HEAD /metrics', 'plain: HEAD /nope'],
    'a refused method is answered with those that are allowed': listedCases(
      'metrics',
      'a refused method is answered with those that are allowed',
    ),
    'errors are JSON and say so': listedCases('metrics', 'errors are JSON and say so'),
    'clients get messages, not tracebacks': [
      'plain: sequence step 9, infer on throws',
      'full: sequence step 9, infer on throws',
    ],
  }),
];
