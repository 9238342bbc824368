// Where our client differs from PyTriton's on purpose, by the names of the recorded cases; a case of several clients or
// protocols is the same in all of them.
import type { ErrorCode } from 'tstriton/client';

import { readCases } from './cases.js';
import { COMING } from './client-calls.js';
import { labelOf, type ClientCase } from './client-cases.js';
import type { ClientAnswer, ClientRule } from './replay-clients.js';

/** Cases that are not the same in all clients or protocols. */
const BY_LABEL = new Set([
  'url',
  'bad-arguments',
  'load_model-without-token',
  'access_token-wrong',
  'decoupled-parameters',
  'from_existing_client',
]);

const LABELS = readCases<ClientCase>('pytriton/clients.jsonl').map((testCase) => ({
  label: labelOf(testCase),
  name: BY_LABEL.has(testCase.name) ? labelOf(testCase) : testCase.name,
}));

type Answers = Readonly<Record<string, ClientAnswer>>;

/** A rule that says of named cases what ours are instead. */
function instead(name: string, reason: string, answers: Answers, until?: string): ClientRule {
  const answerOf = new Map(LABELS.map(({ label, name: of }) => [label, answers[of]] as const));
  const cases = LABELS.filter(({ name: of }) => Object.hasOwn(answers, of)).map(({ label }) => label);
  return {
    name,
    reason,
    cases,
    expects: (_recorded, testCase) => answerOf.get(testCase.name),
    ...(until === undefined ? {} : { until }),
  };
}

function found(texts: Readonly<Record<string, string>>): Answers {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, { found: text, refusal: undefined }]));
}

function refused(texts: Readonly<Record<string, string>>, code: ErrorCode = 'INVALID_ARG'): Answers {
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, { found: '', refusal: { code, text } }]),
  );
}

const NO_URL = 'expected [scheme://]host[:port][/path]';
const ONE = '{add: FP32[1](1), sub: FP32[1](-1)}';
const UPPER = '{u: BYTES[1,1]("AB")}';
const DEADLINE = "deadline of 100 ms exceeded for model 'Spin'";
const CLOSED = 'ModelClient is closed';
const FIRST = '{i: INT32[1](0)}';
const SECOND = '{i: INT32[1](1)}';
const NO_TOKEN = 'is restricted, expecting header';
const NO_REQUEST = 'inference request batch-size must be >= 1';

export const CLIENT_RULES: readonly ClientRule[] = [
  instead('servers have TLS', 'PyTriton refuses these schemes.', {
    ...found({ 'url "https://h"': 'https h 8000', 'url "grpcs://h"': 'grpcs h 8001' }),
  }),
  instead(
    'a URL that means another place is refused',
    'PyTriton takes port 0 for 8000, nothing for a host called None, and drops names and passwords.',
    refused({
      'url "http://h:0"': 'expected a port from 1 to 65535, got 0',
      'url "http://user:pw@h:1"': `invalid url "http://***@h:1" of a client: ${NO_URL}`,
      'url ""': NO_URL,
      'url "http://"': NO_URL,
      'url " localhost"': NO_URL,
      'url "localhost:"': NO_URL,
      'url "ü:80"': NO_URL,
      'url "a b"': NO_URL,
    }),
  ),
  instead(
    'a refused URL is told what is expected',
    'PyTriton repeats it.',
    refused({
      'url "ftp://h"': 'expected one of the schemes http, https, grpc, grpcs, got ftp',
      'url "http://h:foo"': NO_URL,
      'url "http://h:99999"': 'expected a port from 1 to 65535, got 99999',
      'url "http://h:-1"': NO_URL,
      'url "::1"': NO_URL,
      'url "h:80:90"': NO_URL,
      'url null': 'url of a client must be a string, got null',
      'url 5': 'url of a client must be a string, got number',
    }),
  ),
  instead(
    'arguments are checked when a client is made',
    'PyTriton takes an empty name and a time below zero, and crashes over others later.',
    refused({
      'bad-arguments ""': 'Model name cannot be empty',
      'bad-arguments -1': 'timeoutMs must be a number above 0',
      'bad-arguments "x"': 'timeoutMs must be a number above 0',
      'version-text': 'modelVersion must be an integer >= 1, got "1"',
    }),
  ),
  instead('a version is a number', 'As the server has it.', found({ 'version-number': ONE })),
  instead(
    'what does not fit the model is refused before it is sent',
    'The client knows the model. It names the input that is wrong, where Triton names any of several.',
    refused({
      'infer-no-inputs': 'expected 2 inputs but got 0 inputs',
      'infer-extra-input': "unexpected inference input 'zz'",
      'infer-wrong-dtype': "input 'a' of model 'AddSub' is a float64 tensor, expected float32",
      'infer-wrong-rank':
        "unexpected shape for input 'a' for model 'AddSub'. Expected [-1,-1], got [16]. inferBatch takes",
      'infer-infer_sample-with-batch-axis':
        "unexpected shape for input 'a' for model 'AddSub'. Expected [-1], got [2,16]",
      'infer-different-rows':
        "input 'b' batch size does not match other inputs for 'AddSub': it has 3 rows, input 'a' has 2",
      'infer-numpy-scalar': "unexpected shape for input 'a' for model 'AddSub'. Expected [-1], got []",
      'infer-wrong-fixed-dim': "unexpected shape for input 'm' for model 'NoBatch'. Expected [2,-1], got [3,3]",
      'infer-number':
        "input 'a' of model 'AddSub' is a single value, expected rows of shape [-1]: inferBatch takes tensors with the batch axis first",
      'infer-infer_batch-on-non-batching': "model 'NoBatch' doesn't support batching: use inferSample",
      'infer-positional-too-many': "model 'AddSub' has 2 inputs ('a', 'b'), got a list of 3",
    }),
  ),
  instead(
    'a batch has at least one row',
    'Triton complains of the size of the data.',
    refused({ 'infer-zero-rows': NO_REQUEST, 'infer-object-empty': NO_REQUEST }),
  ),
  instead(
    'inputs are a record or a list',
    'One argument is never both.',
    found({ 'infer-positional-and-named': 'not asked' }),
  ),
  instead(
    'plain arrays and strings are inputs',
    'What they stand for is known from the model.',
    found({
      'infer-python-list': '{add: FP32[1,2](1 2), sub: FP32[1,2](-1 0)}',
      'infer-unicode-array': UPPER,
      'infer-object-str': UPPER,
    }),
  ),
  instead(
    'parameters may be numbers of any kind',
    'Triton has double parameters; names of members are strings in JavaScript.',
    found({
      'infer-parameters-float': '{y: BYTES[1]("{\\"f\\": 1.5}")}',
      'infer-parameters-key-int': '{y: BYTES[1]("{\\"1\\": \\"v\\"}")}',
    }),
  ),
  instead(
    'parameters and headers are told what is expected',
    'PyTriton says it of both at once, and turns numbers in headers into text.',
    refused({
      'infer-parameters-none-value':
        "parameter 'n' must be a string, a boolean, a number or a bigint of 64 bits, got null",
      'infer-parameters-list': 'parameters must be an object, got a list',
      'infer-headers-list': 'headers must be an object, got a list',
      'infer-headers-int-value': "header 'x-fwd-a' must be a string, got number",
    }),
  ),
  instead(
    'parameters of the protocol are parameters',
    'The server knows them; a client that refuses them can do less than curl.',
    found({ 'infer-parameters-reserved': '{y: BYTES[1]("{}")}' }),
  ),
  instead(
    'clients get messages, not tracebacks',
    'File names and lines of the server are for its log.',
    refused({ 'infer-callable-raises': 'division by zero, says the model' }, 'INTERNAL'),
  ),
  instead(
    'a decoupled model is told with the method that takes its answers',
    'PyTriton names a class of its own.',
    refused({
      'infer-coupled-client-on-decoupled-model':
        "model 'Count' is decoupled: it answers a request any number of times, and inferSample takes one answer; use streamSample",
    }),
  ),
  instead(
    'streams are read of any model, over both protocols, with all options, many at a time',
    'PyTriton reads them of decoupled models over gRPC, one at a time, without parameters and headers.',
    found({
      'decoupled-over-http': FIRST,
      'decoupled-on-coupled-model': ONE,
      'decoupled-parameters DecoupledModelClient': FIRST,
      'decoupled-headers': FIRST,
      'decoupled-second-while-open': `${FIRST}; ${SECOND}; ${FIRST}; ${SECOND}`,
      'decoupled-next-after-failed-call': `${FIRST}; ${SECOND}`,
    }),
  ),
  instead(
    'inputs of streams are checked before they are sent',
    'The client knows the model.',
    refused({ 'decoupled-wrong-dtype': "input 'n' of model 'Count' is a float64 tensor, expected int32" }),
  ),
  instead(
    'waiting for a model ends at its deadline',
    'One wording for all deadlines.',
    refused(
      { 'wait_for_model-missing': "deadline of 100 ms exceeded for model 'Nope' of the server at" },
      'DEADLINE_EXCEEDED',
    ),
  ),
  instead(
    'another client is made as the first',
    "PyTriton's copy of a gRPC client speaks HTTP.",
    found({ 'from_existing_client ModelClient grpc': ONE }),
  ),
  instead(
    'a missing token has one code over both protocols',
    'PyTriton puts the status into the text.',
    refused(
      {
        'load_model-without-token ModelClient http': NO_TOKEN,
        'access_token-wrong ModelClient http': NO_TOKEN,
        'load_model-without-token ModelClient grpc': NO_TOKEN,
        'access_token-wrong ModelClient grpc': NO_TOKEN,
      },
      'PERMISSION_DENIED',
    ),
  ),
  instead('a token is a text, of every client', "PyTriton's other clients have none.", {
    ...refused({ 'access_token-empty': 'accessToken cannot be empty' }),
    ...found({ 'access_token-argument': ONE }),
  }),
  instead(
    'an unknown model fails at once',
    'PyTriton waits until its time is over, and then says that it was.',
    refused(
      {
        'model-not-found': "Request for unknown model: 'Nope' is not found",
        'model-not-found-not-lazy': "Request for unknown model: 'Nope' is not found",
        'version-not-found': "Request for unknown model: 'AddSub' version 9 is not found",
      },
      'NOT_FOUND',
    ),
  ),
  instead(
    'a server that is not there fails at once',
    'PyTriton waits until its time is over.',
    refused({ 'server-down': 'is not available: connection refused' }, 'UNAVAILABLE'),
  ),
  instead(
    'a closed client is unavailable',
    "Errors have the protocol's codes; PyTriton's asynchronous client waits for a model meanwhile.",
    refused({ 'closed-client': CLOSED }, 'UNAVAILABLE'),
  ),
  instead(
    'a deadline is told',
    'PyTriton has four wordings.',
    refused({ 'infer-timeout-0.5s': DEADLINE }, 'DEADLINE_EXCEEDED'),
  ),
  instead(
    'calls beyond the limits are refused in our words',
    'The options have names of ours; a client may have no queue.',
    {
      ...refused({ 'queue-full': "the client's queue is full: 1 calls are under way" }, 'UNAVAILABLE'),
      ...refused({ 'max_workers-0': 'maxConcurrency must be an integer >= 1 or Infinity, got 0' }),
      ...found({ 'max_queue_size-0': ONE }),
    },
  ),
  instead(
    'what the client has no feature for',
    'The configuration of a model as one of its own attributes.',
    found(Object.fromEntries(Object.entries(COMING).map(([name, feature]) => [name, `coming: ${feature}`]))),
    'the client has them',
  ),
];
