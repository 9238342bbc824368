// Rules about the endpoints that change or tell how the server is set: repository, trace and log settings, shared memory.
import { readCases, type HttpCase } from './cases.js';
import { errorAnswer, errorOf, isInfer, jsonAnswer, requestText, withError, withText } from './http-text.js';
import { recordedAnswer, type HttpAnswer, type HttpRule } from './replay-http.js';

const RECORDED = new Map(readCases<HttpCase>('http/management.jsonl').map((testCase) => [testCase.name, testCase]));

/** The parameter that a load is refused for; undefined when it has none, or is refused for its form. */
function loadParameter({ request }: HttpCase, recorded: HttpAnswer): string | undefined {
  if (!request.path.endsWith('/load') || /^attempt to |^failed to parse/.test(errorOf(recorded) ?? ''))
    return undefined;
  return /"parameters": ?\{"(config|file:[^"]*)"/.exec(request.body ?? '')?.[1];
}

/** What the server says of `reload` and `fresh` when no load changed or made them. */
function asBound(testCase: HttpCase): HttpAnswer | undefined {
  const { name, model } = testCase;
  if (name === 'config after the bad loads') return recordedAnswer(RECORDED.get('get model reload/config')!);
  if (name === 'infer after loading a file (negates)') {
    return jsonAnswer(
      200,
      '{"model_name":"reload","model_version":"1","outputs":[{"name":"y","datatype":"FP32","shape":[1,1],"data":[1.0]}]}',
    );
  }
  return model === 'fresh' && isInfer(testCase)
    ? errorAnswer(404, "Request for unknown model: 'fresh' is not found")
    : undefined;
}

const TRACEBACK = /Internal: TritonModelException: (.*?)\n\nAt:\n[^;]*?\n(?=;|$)/;

export const HTTP_CONTROL_RULES: readonly HttpRule[] = [
  {
    name: 'models are what was bound',
    reason: 'They are functions with their configurations; neither can come over the wire.',
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
    expects: (recorded) =>
      errorOf(recorded) === 'unexpected error on creating Triton parameter'
        ? errorAnswer(400, "unrecognized load parameter 'foo'.")
        : undefined,
  },
  {
    name: 'no name is a path',
    reason: "Triton looks for the model '..' in the folder above.",
    expects: (_recorded, { name }) =>
      name === 'load with name ..'
        ? errorAnswer(500, "failed to load '..', failed to poll from model repository")
        : undefined,
  },
  {
    name: 'reasons are messages, not tracebacks',
    reason: 'File names and lines of the server are for its log.',
    expects: (recorded) =>
      withError(recorded, (message) => message.replace(TRACEBACK, 'Internal: $1')) ??
      withText(recorded, (text) =>
        text.replace(/"reason":"Internal: TritonModelException: ([^"\\]*)\\n\\nAt:[^"]*"/, '"reason":"Internal: $1"'),
      ),
  },
  {
    name: 'a model without requests is unloaded at once',
    reason: 'Triton may still say that it unloads.',
    expects: (recorded) =>
      withText(recorded, (text) => text.replaceAll('"state":"UNLOADING"', '"state":"UNAVAILABLE","reason":"unloaded"')),
  },
  {
    name: 'a level that the log does not have is refused',
    reason: 'Triton keeps the low bits: 4294967296 turns verbose lines off.',
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
    expects: (recorded, { request }) =>
      request.path === '/v2/cudasharedmemory/region/r/register' && recorded.status !== 405 && recorded.status !== 403
        ? errorAnswer(501, "failed to register CUDA shared memory region: 'r', GPUs not supported")
        : undefined,
  },
];
