// Where streams differ from Triton's on purpose.
import type { GrpcCase } from './cases.js';
import { methodName, refusal, STATUS, success, type JsonObject } from './grpc-json.js';
import { isStreamCase } from './grpc-stream-exchange.js';
import { withoutTraceback } from './inference-messages.js';
import type { GrpcAnswer, GrpcRule, Json } from './replay-grpc.js';

interface StreamMessage {
  readonly error_message?: string;
  readonly infer_response?: JsonObject;
}

/** A stream's answer with its messages changed; undefined for other calls. */
function withMessages(
  answer: GrpcAnswer,
  testCase: GrpcCase,
  change: (messages: readonly StreamMessage[]) => readonly StreamMessage[],
): GrpcAnswer | undefined {
  if (methodName(testCase) !== 'ModelStreamInfer') return undefined;
  const before = answer.json as readonly StreamMessage[];
  const after = change(before);
  return after.every((message, index) => message === before[index]) && after.length === before.length
    ? undefined
    : { ...answer, json: after as readonly Json[], bytes: undefined };
}

function finalResponse(response: JsonObject | undefined): JsonObject | undefined {
  return (response?.['parameters'] as JsonObject | undefined)?.['triton_final_response'] as JsonObject | undefined;
}

function withFinal(message: StreamMessage, final: boolean): StreamMessage {
  const { infer_response: response } = message;
  const parameters = { ...(response?.['parameters'] as JsonObject), triton_final_response: { bool_param: final } };
  return { ...message, infer_response: { ...response, parameters } };
}

/** Whether the request of a response asks for the end as a message of its own. */
function wantsEnd({ request }: GrpcCase, { infer_response: response }: StreamMessage): boolean {
  const sent = (request as unknown as readonly JsonObject[]).find(({ id }) => id === response?.['id']);
  return JSON.stringify(sent).includes('"triton_enable_empty_final_response":{"bool_param":true}');
}

/** Whether a message is the last to a request to a model that counts to the end. */
function isLastCount(messages: readonly StreamMessage[], index: number): boolean {
  const { infer_response: response } = messages[index]!;
  const { model_name: model, id, outputs } = response ?? {};
  if (outputs === undefined || (model !== 'count' && model !== 'slowcount')) return false;
  return !messages.slice(index + 1).some(({ infer_response: later }) => later?.['id'] === id);
}

/** The messages of each request by themselves, in the order of the requests' ids. */
function byRequest(json: Json): Json {
  const messages = json as readonly StreamMessage[];
  const idOf = ({ infer_response: response }: StreamMessage) => response?.['id'] as string;
  const ids = [...new Set(messages.map(idOf))].sort();
  return ids.map((id) => messages.filter((message) => idOf(message) === id) as readonly unknown[] as readonly Json[]);
}

/** What there is on a stream beside how far it counted: responses that hold 0, 1, 2 … in turn are told as one. */
function counted(json: Json): Json {
  const told = (json as readonly StreamMessage[]).map(({ infer_response: response, ...message }, index) => {
    const number = Buffer.alloc(4);
    number.writeInt32LE(index);
    const [contents] = (response?.['raw_output_contents'] ?? []) as readonly Json[];
    if (contents !== number.toString('base64')) return { ...message, response };
    return { ...message, response: { ...response, raw_output_contents: ['the next number'] } };
  });
  const texts = told.map((message) => JSON.stringify(message));
  return texts.filter((text, index) => text !== texts[index - 1]);
}

/** What reflection answers when it is asked for the services. */
const SERVICES = [
  {
    list_services_response: {
      service: [
        { name: 'grpc.health.v1.Health' },
        { name: 'grpc.reflection.v1.ServerReflection' },
        { name: 'grpc.reflection.v1alpha.ServerReflection' },
        { name: 'inference.GRPCInferenceService' },
      ],
    },
    original_request: { list_services: '' },
  },
];
/** The recorded stream asks with a message of no fields. */
const NOTHING_ASKED = [
  { error_response: { error_code: 3, error_message: 'the request asks for nothing' }, original_request: {} },
];

const CUT_BY_CHANCE = [
  'cancel with slowcount in flight',
  'model error on a stream with triton_grpc_error while slowcount still sends',
  'unparseable message on a stream while slowcount still sends',
];

export const STREAM_CUT: GrpcRule = {
  name: 'a stream is cut where it is',
  reason:
    'By a deadline, a cancellation, or an error: how many responses there were by then is a matter of milliseconds.',
  cases: [...CUT_BY_CHANCE, 'deadline with slowcount in flight'],
  excuses: {
    members: 'how many responses of slowcount there were',
    without: (answer) => ({ ...answer, json: counted(answer.json), bytes: undefined }),
  },
};

/** In simulated time a deadline comes between the same responses as in the recording. */
export const STREAM_CUT_IN_SIMULATED_TIME: GrpcRule = { ...STREAM_CUT, cases: CUT_BY_CHANCE };

export const GRPC_STREAM_RULES: readonly GrpcRule[] = [
  {
    name: 'the last response is marked where the end is known in time',
    reason:
      'Clients that ask for no empty final response would wait for ever: a generator that returns after its last response ends with it.',
    cases: [
      'count n=1',
      'count n=2',
      'count n=5',
      'count n=2, empty final response false',
      'count n=200',
      'count with outputs asked',
      'triton_grpc_error true: count n=2',
      'decoupled slow and ordinary interleaved',
      'two slowcounts at once',
      'decoupled first, ordinary behind it at once',
      'slow ordinary first, decoupled behind it at once',
    ],
    expects: (recorded, testCase) =>
      withMessages(recorded, testCase, (messages) =>
        messages.map((message, index) =>
          isLastCount(messages, index) && !wantsEnd(testCase, message) ? withFinal(message, true) : message,
        ),
      ),
  },
  {
    name: 'an error is the end of its request',
    reason: 'A generator that throws has ended; the error says so, without a further message.',
    cases: ['countfail', 'countfail, empty final response on', 'error: countfail error'],
    expects: (recorded, testCase) =>
      withMessages(recorded, testCase, (messages) => {
        const failed = messages.findIndex(
          (message) =>
            message.error_message !== undefined && finalResponse(message.infer_response)?.['bool_param'] === false,
        );
        return failed < 0 ? messages : [...messages.slice(0, failed), withFinal(messages[failed]!, true)];
      }),
  },
  {
    name: 'errors on streams are messages, not tracebacks',
    reason: 'File names and lines of the server are for its log.',
    cases: ['error: python exception'],
    expects: (recorded, testCase) =>
      withMessages(recorded, testCase, (messages) =>
        messages.map((message) => {
          const text = withoutTraceback(message.error_message ?? '');
          return text === (message.error_message ?? '') ? message : { ...message, error_message: text };
        }),
      ),
  },
  {
    name: 'the recorded sequence model is not bound for streams',
    reason: 'As on unary calls.',
    cases: ['error: sequence id missing', 'triton_grpc_error true: sequence id missing', 'sequence over a stream'],
    expects: (recorded, testCase) => {
      const requests = testCase.request;
      if (!Array.isArray(requests) || (requests[0] as JsonObject | null)?.['model_name'] !== 'seq') return undefined;
      const error_message = "Request for unknown model: 'seq' is not found";
      return withMessages(recorded, testCase, () =>
        requests.map(({ id }: JsonObject) => ({ error_message, infer_response: { id: id! } })),
      );
    },
  },
  {
    name: 'what is no request ends the stream with an error',
    reason: 'Triton ends it with OK and without a word, and never answers the requests after it.',
    cases: [
      'unparseable message first',
      'good, then an unparseable message',
      'unparseable message, then good',
      'unparseable message on a stream while slowcount still sends',
    ],
    expects: (recorded, testCase) => {
      if (!testCase.name.includes('unparseable message') || !isStreamCase(testCase)) return undefined;
      const messages = recorded.json as readonly Json[];
      // Requests under way are cancelled, as by every error that ends a stream.
      const json = testCase.name.includes('slowcount') ? messages.slice(0, 2) : messages;
      return { ...refusal(STATUS.INTERNAL, 'Unable to parse request'), json };
    },
  },
  {
    name: 'an instance streams to several requests at once',
    reason: 'Asynchronous generators wait side by side; Triton starts the second when the first has ended.',
    cases: ['two slowcounts at once'],
    excuses: {
      members: 'the order between responses to different requests of a stream',
      without: (answer) => ({ ...answer, json: byRequest(answer.json), bytes: undefined }),
    },
  },
  {
    name: 'a stream and another request go side by side',
    reason: 'The recordings have either order, or one that holds while nothing is late.',
    cases: ['decoupled first, ordinary behind it at once', 'decoupled slow and ordinary interleaved'],
    excuses: {
      members: 'the order between responses to different requests of a stream',
      without: (answer) => ({ ...answer, json: byRequest(answer.json), bytes: undefined }),
    },
  },
  STREAM_CUT,
  {
    name: 'a cached answer is complete the first time',
    reason: 'Triton fails the first one on a stream: `response output count mismatch`.',
    cases: ['cached over a stream twice'],
    expects: (recorded, testCase) =>
      withMessages(recorded, testCase, (messages) => {
        const [first, second] = messages;
        if (first?.error_message !== 'response output count mismatch') return messages;
        return [{ infer_response: { ...second!.infer_response, id: first.infer_response!['id']! } }, second!];
      }),
  },
  {
    name: 'one error does not end the server',
    reason: 'Triton ends when a model fails on a stream with `triton_grpc_error` on which another request is answered.',
    cases: ['ServerLive two seconds after: model error on a stream with triton_grpc_error while slowcount still sends'],
    expects: (_recorded, { name }) =>
      name.startsWith('ServerLive two seconds after: model error on a stream')
        ? { code: STATUS.OK, message: '', metadata: [], json: { live: true }, bytes: undefined }
        : undefined,
  },
  {
    name: 'changes of health can be watched',
    reason: 'Load balancers do. Triton serves Check alone.',
    cases: ['health Watch as a unary call', 'health Watch as a server stream'],
    expects: (_recorded, { method }) =>
      method.endsWith('/Watch')
        ? {
            code: 1,
            message: 'Locally cancelled by application!',
            metadata: [],
            json: [{ status: 'SERVING' }],
            bytes: undefined,
          }
        : undefined,
  },
  {
    name: 'reflection is served',
    reason: 'grpcurl and other tools learn the services by it.',
    cases: ['reflection v1', 'reflection v1alpha', 'reflection as a stream'],
    expects: (_recorded, { name }) => success(name === 'reflection as a stream' ? NOTHING_ASKED : SERVICES),
  },
];
