// Where answers to single requests of sequences differ from Triton's on purpose.

export interface WireRule {
  readonly name: string;
  readonly reason: string;
  /** The members of the answer that are others. */
  readonly cases: Readonly<Record<string, object>>;
}

const each = (names: readonly string[], change: object) => Object.fromEntries(names.map((name) => [name, change]));
const generated = (model: string) => ({ id: 'a1', info: '', model_name: model, model_version: '1', y: 1 });

const SAMPLE_OUTPUTS = [
  { name: 'y', datatype: 'INT32', shape: ['1', '1'] },
  { name: 'info', datatype: 'BYTES', shape: ['1', '1'] },
];

export const WIRE_RULES: readonly WireRule[] = [
  {
    name: 'a parameter of a wrong type is the mistake of the client',
    reason: 'Triton answers it with status 500.',
    cases: each(
      [
        ...['negative', 'fraction', 'exponent', 'null', 'array', 'object', 'too-large'].map((id) => `http-id-${id}`),
        ...['zero', 'string', 'null'].map((value) => `http-sequence_start-${value}`),
        ...['one', 'string', 'null'].map((value) => `http-sequence_end-${value}`),
      ],
      { status: 400 },
    ),
  },
  {
    name: 'errors are sent as JSON',
    reason: 'Triton says text/plain of the JSON that tells of errors of models and of what HTTP cannot do.',
    cases: each(['http-model-fails', 'http-iterative-fails', 'http-decoupled'], { content_type: 'application/json' }),
  },
  {
    name: 'the number of rows is told as such',
    reason: 'Triton tells of the first tensor of strings without rows; without one it takes the request.',
    cases: {
      'http-rows-zero': {
        body: { error: "[request id: a1] inference request batch-size must be >= 1 for 'direct', got 0" },
      },
      'grpc-rows-zero': { text: "[request id: a1] inference request batch-size must be >= 1 for 'direct', got 0" },
    },
  },
  {
    name: 'inputs are named in the order of the request, in complete brackets',
    reason: 'Triton sorts them, and forgets a bracket.',
    cases: {
      'http-control-as-input': {
        body: {
          error:
            "[request id: a1] expected 2 inputs but got 3 inputs for model 'direct'. Got input(s) ['x','note','START'], but missing required input(s) []. Please provide all required input(s).",
        },
      },
    },
  },
  {
    name: 'generate takes the id of a sequence',
    reason: 'Triton has no place for it, so that no model of sequences can be asked by generate.',
    cases: {
      'generate-direct': { status: 200, body: generated('direct') },
      'generate-direct-top-level-id': { status: 200, body: generated('direct') },
      'generate_stream-direct': {
        status: 200,
        content_type: 'text/event-stream; charset=utf-8',
        body: generated('direct'),
      },
      'generate_stream-decoupled': {
        status: 200,
        content_type: 'text/event-stream; charset=utf-8',
        body: [generated('decoupled'), generated('decoupled')],
      },
      'generate-decoupled': {
        body: {
          error:
            'generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses',
        },
      },
    },
  },
  {
    name: 'generate refuses several answers as the mistake of the client',
    reason: 'Triton sends the error with status 200.',
    cases: { 'generate-iterative-decoupled': { status: 400 } },
  },
  {
    name: 'the input of an id is a string of any length',
    reason: 'Triton sends a string id without its length, and refuses what it has made.',
    cases: {
      'http-string-model': {
        status: 200,
        content_type: 'application/json',
        body: {
          id: 'a1',
          model_name: 'string',
          model_version: '1',
          outputs: [
            { name: 'y', datatype: 'INT32', shape: [1, 1], data: [1] },
            { name: 'info', datatype: 'BYTES', shape: [1, 1], data: [''] },
          ],
        },
      },
      'grpc-string-model': {
        status: 'OK',
        text: undefined,
        answer: { model_name: 'string', model_version: '1', id: 'a1', outputs: SAMPLE_OUTPUTS, y: [1] },
      },
    },
  },
];
