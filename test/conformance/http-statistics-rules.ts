// Rules about what statistics count over HTTP.
import { withText } from './http-text.js';
import type { HttpAnswer, HttpRule } from './replay-http.js';
import { counted, responseStatistics, type CountedDuration, type StreamedRequest } from './streamed-statistics.js';

interface ModelStatistics {
  readonly name: string;
  readonly inference_count: number;
  readonly inference_stats: Readonly<Record<string, CountedDuration>>;
  readonly [member: string]: unknown;
}

/** Statistics with the entry of one model changed. */
function changeStatistics(
  answer: HttpAnswer,
  name: string,
  change: (model: ModelStatistics) => ModelStatistics,
): HttpAnswer {
  const changed = withText(answer, (text) => {
    const { model_stats: models } = JSON.parse(text) as { readonly model_stats: readonly ModelStatistics[] };
    return JSON.stringify({ model_stats: models.map((model) => (model.name === name ? change(model) : model)) });
  });
  return changed ?? answer;
}

/** The streams that the recorded servers had been asked for before, by model. */
const STREAMED: Readonly<Record<string, readonly StreamedRequest[]>> = {
  count: [
    { responses: 3, end: 'empty_response' },
    { responses: 0, end: 'empty_response' },
  ],
  countfail: [{ responses: 3, end: 'fail' }],
};

function withStreams(model: ModelStatistics): ModelStatistics {
  const requests = STREAMED[model.name]!;
  const failed = requests.filter(({ end }) => end === 'fail').length;
  const { length: all } = requests;
  const succeeded = counted(all - failed);
  return {
    ...model,
    inference_count: all - failed,
    inference_stats: {
      ...model.inference_stats,
      success: succeeded,
      fail: counted(failed),
      queue: succeeded,
      // All of a stream's time is its execution's; `response_stats` tells what was sent in between.
      compute_input: { ...succeeded, ns: 0 },
      compute_infer: succeeded,
      compute_output: { ...succeeded, ns: 0 },
    },
    response_stats: responseStatistics(requests),
  };
}

/** Of the three requests to `throws` one was answered, one ended by an exception, and one by an error. */
function withFailure(model: ModelStatistics): ModelStatistics {
  const once = counted(1);
  const succeeded = ['success', 'queue', 'compute_input', 'compute_infer', 'compute_output'].map((name) => [
    name,
    once,
  ]);
  const fail = counted(model.inference_stats['fail']!.count + 1);
  return {
    ...model,
    inference_count: 1,
    inference_stats: { ...model.inference_stats, ...Object.fromEntries(succeeded), fail },
  };
}

export const HTTP_STATISTICS_RULES: readonly HttpRule[] = [
  {
    name: 'streams have response statistics',
    reason: 'Triton counts nothing of the single responses over generate_stream, and a stream that fails as a success.',
    cases: [
      'statistics: count after the sequence',
      'statistics: countfail after the sequence',
      'statistics: all models after the sequence',
      'restricted: GET /v2/models/stats with the key',
      'restricted: GET /v2/models/stats with the key in capitals',
    ],
    expects: (recorded) =>
      Object.keys(STREAMED).reduce((answer, name) => changeStatistics(answer, name, withStreams), recorded),
  },
  {
    name: 'failed requests are failures in statistics',
    reason: 'Triton counts an error that a model answers with as a success.',
    cases: [
      'statistics: throws after the sequence',
      'statistics: all models after the sequence',
      'restricted: GET /v2/models/stats with the key',
      'restricted: GET /v2/models/stats with the key in capitals',
    ],
    expects: (recorded) => changeStatistics(recorded, 'throws', withFailure),
  },
];
