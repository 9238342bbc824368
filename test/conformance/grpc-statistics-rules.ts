// Rules about what statistics count over gRPC.
import { readCases, type GrpcCase } from './cases.js';
import { asksFor, withJson, type InferRequest, type JsonObject } from './grpc-json.js';
import { isStreamCase } from './grpc-stream-exchange.js';
import type { GrpcAnswer, GrpcRule, Json } from './replay-grpc.js';
import { counted, responseStatistics, type CountedDuration, type StreamedRequest } from './streamed-statistics.js';

/** Statistics with the list of models changed. */
export function changeStatistics(
  answer: GrpcAnswer,
  change: (models: readonly JsonObject[]) => readonly JsonObject[],
): GrpcAnswer | undefined {
  const { model_stats: models } = (answer.json ?? {}) as { readonly model_stats?: readonly JsonObject[] };
  return models === undefined ? undefined : withJson(answer, (json) => ({ ...json, model_stats: change(models) }));
}

/** What failed requests are in statistics: not answers of the model. */
function withFailures(models: readonly JsonObject[]): readonly JsonObject[] {
  return models.map((model) => {
    if (model['name'] !== 'throws') return model;
    const { inference_count: _count, ...rest } = model;
    const none = { success: {}, queue: {}, compute_input: {}, compute_infer: {}, compute_output: {} };
    return {
      ...rest,
      inference_stats: { ...(model['inference_stats'] as JsonObject), ...none, fail: { count: '2', ns: '1' } },
    };
  });
}

/** Streams that ended before their model had sent everything, by their cases: the responses until then. */
const CUT: Readonly<Record<string, number>> = {
  'cancel with slowcount in flight': 3,
  'deadline with slowcount in flight': 6,
};

/** The requests to a model on the streams before a case, and what the model makes of each. */
function streamedBefore({ name, request }: GrpcCase): readonly StreamedRequest[] {
  const { name: model } = request as { readonly name: string };
  const cases = readCases<GrpcCase>('grpc/stream.jsonl');
  const streams = cases
    .slice(
      0,
      cases.findIndex((testCase) => testCase.name === name),
    )
    .filter(isStreamCase);
  return streams.flatMap((stream) =>
    ((stream.request ?? []) as readonly (InferRequest | null)[]).flatMap((sent): StreamedRequest[] => {
      const [raw = ''] = sent?.raw_input_contents ?? [];
      const bytes = Buffer.from(raw, 'base64');
      if (sent?.model_name !== model || bytes.length !== 4 || isRefused(stream, sent)) return [];
      if (model === 'countfail') return [{ responses: 3, end: 'fail' }];
      const cut = CUT[stream.name];
      if (cut !== undefined) return [{ responses: cut, end: 'cancel' }];
      // The last response of countlast is the final one, without an empty one after it.
      const end = model === 'countlast' ? 'final' : 'empty_response';
      return [{ responses: Math.max(0, bytes.readInt32LE()), end }];
    }),
  );
}

/** Whether the recorded stream has no response to this request but an error. */
function isRefused({ response }: GrpcCase, { id, model_name: model }: InferRequest): boolean {
  const messages = response.body as readonly StreamMessage[];
  return (
    model !== 'countfail' &&
    messages.some(({ error_message: error, infer_response: to }) => error !== undefined && to?.id === id)
  );
}

interface StreamMessage {
  readonly error_message?: string;
  readonly infer_response?: { readonly id?: string };
}

/** As protobuf's JSON has it: numbers as texts, and none that are 0. */
function duration({ count, ns }: CountedDuration): JsonObject {
  return count === 0 ? {} : { count: String(count), ...(ns === 0 ? {} : { ns: String(ns) }) };
}

/** The entry of a model after these streams. */
function streamStatistics(name: string, requests: readonly StreamedRequest[]): JsonObject {
  const executed = duration(counted(requests.length));
  const succeeded = counted(requests.filter(({ end }) => end === 'final' || end === 'empty_response').length);
  const failed = duration(counted(requests.length - succeeded.count));
  // All of a stream's time is its execution's; `response_stats` tells what was sent in between.
  const untimed = duration({ ...succeeded, ns: 0 });
  const responses = Object.entries(responseStatistics(requests)).map(([number, durations]) => [
    number,
    Object.fromEntries(Object.entries(durations).map(([what, value]) => [what, duration(value)])),
  ]);
  return {
    name,
    version: '1',
    last_inference: '1',
    ...(succeeded.count === 0 ? {} : { inference_count: String(succeeded.count) }),
    execution_count: String(requests.length),
    inference_stats: {
      success: duration(succeeded),
      fail: failed,
      queue: duration(succeeded),
      compute_input: untimed,
      compute_infer: duration(succeeded),
      compute_output: untimed,
      cache_hit: {},
      cache_miss: {},
    },
    response_stats: Object.fromEntries(responses) as JsonObject,
    batch_stats: [{ batch_size: '1', compute_input: executed, compute_infer: executed, compute_output: executed }],
  };
}

/** The numbers of responses that every stream of slowcount reached. */
const REACHED = ['0', '1', '2'];

export const GRPC_STATISTICS_RULES: readonly GrpcRule[] = [
  {
    name: 'the recorded server was started again',
    reason:
      'It had ended itself, and its statistics with it; and it counted none of the single responses. Ours has counted everything since the beginning.',
    cases: [
      'statistics of slowcount at the end',
      'statistics of count at the end',
      'statistics of countfail at the end',
      'statistics of countlast at the end',
    ],
    expects: (recorded, testCase) => {
      const { name = '' } = asksFor(testCase);
      return changeStatistics(recorded, () => [streamStatistics(name, streamedBefore(testCase))]);
    },
  },
  {
    name: 'statistics of streams that were cut',
    reason: 'How many responses there were by then is a matter of milliseconds.',
    cases: ['statistics of slowcount at the end'],
    excuses: {
      members: '`response_stats` of slowcount from the fourth response on',
      without: (answer) =>
        changeStatistics(answer, (models) =>
          models.map((model) => ({
            ...model,
            response_stats: Object.fromEntries(
              Object.entries((model['response_stats'] ?? {}) as JsonObject).filter(([number]) =>
                REACHED.includes(number),
              ),
            ) as Json,
          })),
        ) ?? answer,
    },
  },
  {
    name: 'failed requests are failures in statistics',
    reason: 'Triton counts an error that a model answers with as a success.',
    cases: ['statistics of throws after 2 model errors'],
    expects: (recorded) => changeStatistics(recorded, withFailures),
  },
];
