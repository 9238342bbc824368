// Rules about the endpoints that change or tell how the server is set: repository, trace and log settings, shared memory.
import { devNull } from 'node:os';
import { readCases, type HttpCase } from './cases.js';
import { errorAnswer, errorOf, isInfer, jsonAnswer, withError, withText } from './http-text.js';
import { recordedAnswer, type HttpAnswer, type HttpRule } from './replay-http.js';

const RECORDED = new Map(readCases<HttpCase>('http/management.jsonl').map((testCase) => [testCase.name, testCase]));

/** The parameter that a load is refused for; undefined when it has none, or is refused for its form. */
function loadParameter({ request }: HttpCase, recorded: HttpAnswer): string | undefined {
  if (!request.path.endsWith('/load') || /^attempt to |^failed to parse/.test(errorOf(recorded) ?? ''))
    return undefined;
  return /"parameters": ?\{"(config|file:[^"]*)"/.exec(request.body ?? '')?.[1];
}

const AFTER_OVERRIDE =
  /^(then: |infer after (override|loading a file)|config (after (the bad loads|override|those)|with )|sequence model: |priority \d+ on a model with 2 levels)/;

/** What the server says of `reload` and `fresh` when no load changed or made them. */
function asBound(testCase: HttpCase): HttpAnswer | undefined {
  const { name, model, request } = testCase;
  if (model === 'fresh' && isInfer(testCase))
    return errorAnswer(404, "Request for unknown model: 'fresh' is not found");
  if (model !== 'reload' || !AFTER_OVERRIDE.test(name)) return undefined;
  if (isInfer(testCase)) return echo(testCase);
  return request.path.endsWith('/config') ? recordedAnswer(RECORDED.get('get model reload/config')!) : undefined;
}

/** The answer of an identity to a JSON request for FP32. */
function echo({ request }: HttpCase): HttpAnswer {
  const { inputs } = JSON.parse(request.body!) as {
    readonly inputs: readonly [{ readonly shape: number[]; readonly data: number[] }];
  };
  const data = inputs[0].data.map((value) => value.toFixed(1));
  return jsonAnswer(
    200,
    `{"model_name":"reload","model_version":"1","outputs":[{"name":"y","datatype":"FP32","shape":[${inputs[0].shape.join()}],"data":[${data.join()}]}]}`,
  );
}

const TRACEBACK = /Internal: TritonModelException: (.*?)\n\nAt:\n[^;]*?\n(?=;|$)/;

export const HTTP_CONTROL_RULES: readonly HttpRule[] = [
  {
    name: 'models are what was bound',
    reason: 'They are functions with their configurations; neither can come over the wire.',
    cases: 35,
    expects: (recorded, testCase) => {
      const parameter = loadParameter(testCase, recorded);
      return parameter === undefined
        ? asBound(testCase)
        : errorAnswer(
            501,
            `load parameter '${parameter}' is not supported: model '${testCase.model}' is what was bound under that name, with its configuration`,
          );
    },
  },
  {
    name: 'an unknown load parameter is named',
    reason: 'It is the mistake of the client, and gRPC says so.',
    cases: ['load: unknown parameter key'],
    expects: (recorded) =>
      errorOf(recorded) === 'unexpected error on creating Triton parameter'
        ? errorAnswer(400, "unrecognized load parameter 'foo'.")
        : undefined,
  },
  {
    name: 'no name is a path',
    reason: "Triton looks for the model '..' in the folder above.",
    cases: ['load with name ..'],
    expects: (_recorded, { name }) =>
      name === 'load with name ..'
        ? errorAnswer(500, "failed to load '..', failed to poll from model repository")
        : undefined,
  },
  {
    name: 'reasons are messages, not tracebacks',
    reason: 'File names and lines of the server are for its log.',
    cases: [
      'load: broken model',
      'repository index after a failed load',
      'load: broken model again',
      'repository index with the model that exists only by its load',
      'repository index after the unload',
    ],
    expects: (recorded) =>
      withError(recorded, (message) => message.replace(TRACEBACK, 'Internal: $1')) ??
      withText(recorded, (text) =>
        text.replace(/"reason":"Internal: TritonModelException: ([^"\\]*)\\n\\nAt:[^"]*"/, '"reason":"Internal: $1"'),
      ),
  },
  {
    name: 'a model without requests is unloaded at once',
    reason: 'Triton may still say that it unloads.',
    cases: ['repository index after the unload'],
    expects: (recorded) =>
      withText(recorded, (text) => text.replaceAll('"state":"UNLOADING"', '"state":"UNAVAILABLE","reason":"unloaded"')),
  },
  {
    name: 'the log goes to a file',
    reason: 'That of the recorded servers went to standard error, where it would bury what a test has to say.',
    cases: 26,
    expects: (recorded) =>
      withText(recorded, (text) => text.replace('{"log_file":""', `{"log_file":${JSON.stringify(devNull)}`)),
  },
  {
    name: 'a parameter has one value',
    reason:
      'Callables get an object. Headers of one name are one list, as RFC 9110 has it, and what the operator forwards goes over what the client says.',
    cases: ['forwarded header repeated', 'forwarded header also a parameter'],
    expects: (recorded) =>
      withText(recorded, (text) =>
        text
          .replace('\\"x-fwd-a\\":\\"1\\",\\"x-fwd-a\\":\\"2\\"', '\\"x-fwd-a\\":\\"1, 2\\"')
          .replace('\\"x-fwd-a\\":\\"mine\\",\\"x-fwd-a\\":\\"theirs\\"', '\\"x-fwd-a\\":\\"theirs\\"'),
      ),
  },
  {
    name: 'a level that the log does not have is refused',
    reason: 'Triton keeps the low bits: 4294967296 turns verbose lines off.',
    cases: ['logging: post {"log_verbose_level":4294967296}'],
    expects: (_recorded, { request }) =>
      request.path === '/v2/logging' && request.body?.includes('4294967296') === true
        ? errorAnswer(
            400,
            "Unable to parse 'log_verbose_level', value is out of range [ 0, 2147483647 ], got: 4294967296",
          )
        : undefined,
  },
  {
    name: 'CUDA shared memory is not served',
    reason: 'Needs a GPU.',
    cases: [
      'cuda: register with body ',
      'cuda: register with body {}',
      'cuda: register with body {',
      'cuda: register with body {"raw_handle":{"b64":"AAAA"},"device_id":0,"byte_size":8}',
      'cuda: register with body {"raw_handle":"x","device_id":0,"byte_size":8}',
      'cuda: register with body {"raw_handle":{},"device_id":0,"byte_size":8}',
    ],
    expects: (recorded, { request }) =>
      request.path === '/v2/cudasharedmemory/region/r/register' && recorded.status !== 405 && recorded.status !== 403
        ? errorAnswer(501, "failed to register CUDA shared memory region: 'r', GPUs not supported")
        : undefined,
  },
];
