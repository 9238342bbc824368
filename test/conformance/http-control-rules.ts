// Rules about the endpoints that change or tell how the server is set: repository, trace and log settings, shared memory.
import { devNull } from 'node:os';
import { readCases, type HttpCase } from './cases.js';
import { errorAnswer, errorOf, isInfer, jsonAnswer, withError, withText } from './http-text.js';
import { recordedAnswer, type HttpAnswer, type HttpRule } from './replay-http.js';
import { HTTP_LOADED_MODELS } from './http-models.js';
import { listedCases } from './listed-cases.js';

const RECORDED = new Map(readCases<HttpCase>('http/management.jsonl').map((testCase) => [testCase.name, testCase]));

/** The first parameter of a load that brings a file; undefined when it has none, or is refused for its form. */
function fileOf({ request }: HttpCase, recorded: HttpAnswer): string | undefined {
  if (!request.path.endsWith('/load') || /^attempt to |^failed to parse/.test(errorOf(recorded) ?? ''))
    return undefined;
  return /"(file:[^"]*)":/.exec(request.body ?? '')?.[1];
}

/** What is wrong with the configurations of loads, by the names of the cases. */
const WRONG_CONFIGURATIONS: Readonly<Record<string, string>> = {
  'load: config an empty string': 'it is no JSON',
  'load: config not JSON': 'it is no JSON',
  'load: config with unknown field': 'cannot decode message inference.ModelConfig from JSON: key "foo" is unknown',
  'load: config override with another name': "it is for model 'other', expected 'reload'",
  'load: config override negative max_batch_size': 'max_batch_size must be >= 0, got -1',
  'load: config override bad data_type': 'cannot decode enum inference.DataType from JSON: "TYPE_NOPE"',
  'load: config override bad type of max_batch_size':
    'cannot decode field inference.ModelConfig.max_batch_size from JSON: expected number (int32), got "many"',
  'load: config override unknown backend': "unable to find backend library for backend 'nope'",
  'load: config override preferred batch too large':
    "dynamic batching preferred size must be <= max batch size for model 'reload', got 9 with a maximum of 2",
  'load: config override decoupled with response cache':
    'model_transaction_policy.decoupled cannot be changed by a load: expected false, got true',
  'load: config override full batcher and queue policy':
    'instance_group cannot be changed by a load: expected 1, got 2',
};

/** The largest batch that the model `reload` was loaded with, where the configuration of a load left its tensors out. */
const WITHOUT_TENSORS: Readonly<Record<string, number>> = {
  'config after the bad loads': 4,
  'config after override with only max_batch_size': 3,
  'config after those overrides': 3,
};

/** What the server said in another recorded case. */
function recordedIn(name: string): HttpAnswer {
  return recordedAnswer(RECORDED.get(name)!);
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
/** The one model whose set-up fails. */
const FAILED_SETUP = "setup of model 'broken' failed: ";

const NAMED_WRONGLY =
  /^(failed to load '.*', failed to poll from model repository|Unable to open shared memory region: '.*'|shared memory size specified with the request for output '.*' \(\d+ bytes\) should be at least \d+ bytes to hold the results)$/;

/** What newer Tritons say of a key that this one could not open; undefined for what is no such refusal. */
export function keyRefusal(recorded: string | undefined, region: string | undefined): string | undefined {
  const key = /^Unable to open shared memory region: '(.*)'$/.exec(recorded ?? '')?.[1];
  if (key === undefined) return undefined;
  if (/^\/*$/.test(key)) return `cannot register shared memory region '${region}' - invalid shm key '${key}'`;
  if (!/^\/*triton_python_backend_shm_region_/.test(key)) return undefined;
  return `cannot register shared memory region '${region}' with key '${key}' as the key contains the reserved prefix 'triton_python_backend_shm_region_'`;
}

/** What is said of a text that Triton takes for a number. */
export function traceNumberRefusal(setting: string, text: string): string {
  return text.startsWith('-')
    ? `Unable to parse '${setting}', value is out of range [ 0, 4294967295 ], got: ${text}`
    : `Unable to parse '${setting}', got: ${text}`;
}

/** Trace settings after a frequency of -1, which was refused, so that it is still the one before. */
function keptTraceSettings(recorded: HttpAnswer, path: string): HttpAnswer | undefined {
  if (!path.endsWith('/trace/setting')) return undefined;
  return withText(recorded, (text) => text.replace('"log_frequency":"4294967295"', '"log_frequency":"10"'));
}

export const HTTP_CONTROL_RULES: readonly HttpRule[] = [
  {
    name: 'the models of a server are listed',
    reason: 'Whoever may not control a server can still see what it serves, as with the servers of KServe.',
    cases: ['get path /v2/models'],
    expects: (recorded) => {
      const models = [...HTTP_LOADED_MODELS].sort();
      const versions = models.flatMap((name) =>
        (name === 'versions' ? ['1', '3'] : ['1']).map((version) => ({ name, version, state: 'READY' })),
      );
      return {
        ...recorded,
        status: 200,
        contentType: 'application/json',
        body: Buffer.from(JSON.stringify({ models, versions })),
      };
    },
  },
  {
    name: 'no model comes over the wire',
    reason: 'A model is a function that was bound: a load may change its configuration, and brings no files.',
    cases: [
      'load: file without config',
      'load: file not base64 with config',
      'load: file with config',
      'infer after loading a file (negates)',
      'load: new name from a file',
      'infer on a model that exists only by its load',
    ],
    expects: (recorded, testCase) => {
      const file = fileOf(testCase, recorded);
      if (file !== undefined) {
        const message = `load parameter '${file}' is not supported: model '${testCase.model}' is what was bound under that name`;
        return errorAnswer(501, message);
      }
      if (testCase.model === 'fresh' && isInfer(testCase))
        return errorAnswer(404, "Request for unknown model: 'fresh' is not found");
      return testCase.name === 'infer after loading a file (negates)' ? echo(testCase) : undefined;
    },
  },
  {
    name: 'the files of a load change nothing later either',
    reason:
      'A plain load goes back to the files on the disk in Triton; without files it leaves what is loaded, in both.',
    cases: ['config after a plain load'],
    expects: (_recorded, { name }) =>
      name === 'config after a plain load' ? recordedIn('config with sequence batching') : undefined,
  },
  {
    name: 'a plain load keeps the configuration of the load before it',
    reason: 'The model batches by sequences since then, and these requests name none.',
    cases: ['infer after loading a file (negates)', 'infer after a plain load'],
    expects: (_recorded, { name }) =>
      name === 'infer after loading a file (negates)' || name === 'infer after a plain load'
        ? errorAnswer(400, "inference request to model 'reload' must specify a non-zero or non-empty correlation ID")
        : undefined,
  },
  {
    name: 'a wrong configuration says what is wrong',
    reason: 'Triton says of all of them that polling failed, and that the server is to blame.',
    cases: Object.keys(WRONG_CONFIGURATIONS),
    expects: (_recorded, { name }) =>
      name in WRONG_CONFIGURATIONS
        ? errorAnswer(400, `Invalid config override: ${WRONG_CONFIGURATIONS[name]}`)
        : undefined,
  },
  {
    name: "a model's tensors are its callable's",
    reason: 'A configuration that leaves them out gives Triton a model without any.',
    cases: Object.keys(WITHOUT_TENSORS),
    expects: (_recorded, { name }) => {
      const rows = WITHOUT_TENSORS[name];
      if (rows === undefined) return undefined;
      const bound = recordedIn('get model reload/config');
      return withText(bound, (text) => text.replace('"max_batch_size":4', `"max_batch_size":${rows}`)) ?? bound;
    },
  },
  {
    name: 'a group of instances has one name',
    reason:
      'With the configuration of a load Triton calls it by the name of the model, otherwise by that with a number.',
    cases: [
      'then: config after override',
      'config with priorities',
      'config with sequence batching',
      'config after a plain load',
    ],
    expects: (recorded, { request }) =>
      request.path === '/v2/models/reload/config'
        ? withText(recorded, (text) => text.replace('"name":"reload","kind"', '"name":"reload_0","kind"'))
        : undefined,
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
    reason: "Triton looks for the model '..' in the folder above; newer ones say what is wrong, in these words.",
    cases: ['load with name ..'],
    expects: (_recorded, { name }) =>
      name === 'load with name ..'
        ? errorAnswer(400, "invalid model name '..', model name must not contain path traversal characters")
        : undefined,
  },
  {
    name: 'a key of shared memory that cannot be one is told so',
    reason: 'Newer Tritons say it in these words.',
    cases: [
      'shared memory: register r with body {"key":"","byte_size":8}',
      'shared memory: register r with body {"key":"/","byte_size":8}',
      'shared memory: register r with body {"key":"/triton_python_backend_shm_region_1","byte_size":8}',
    ],
    expects: (recorded, { request }) => {
      const text = keyRefusal(errorOf(recorded), request.path.split('/')[4]);
      return text === undefined ? undefined : errorAnswer(400, text);
    },
  },
  {
    name: 'no bytes of shared memory are a range too',
    reason:
      'A tensor may be empty. Triton subtracts 1 from the offset and the size, which wraps at 0: from offset 1 on it takes them.',
    cases: ['shared memory: infer, input without byte_size', 'shared memory: infer, output without byte_size'],
    expects: (recorded, { name }) =>
      /^shared memory: infer, (input|output) without byte_size$/.test(name)
        ? errorAnswer(
            400,
            errorOf(recorded)?.endsWith("'in'") === true
              ? "[request id: <id_unknown>] input byte size mismatch for input 'x' for model 'id_fp32'. Expected 8, got 0"
              : "shared memory size specified with the request for output 'y' (0 bytes) should be at least 8 bytes to hold the results",
          )
        : undefined,
  },
  {
    name: 'the name of what is not there is the mistake of the client',
    reason: 'Triton answers 500: the same mistake in the name of a model to ask is 404, in JSON 400.',
    cases: [
      'load: unknown model',
      'load with percent-encoded name',
      'shared memory: register r with body {"key":"/no_such_key","byte_size":8}',
      'shared memory: infer, output too small',
    ],
    expects: (recorded) =>
      recorded.status === 500 && NAMED_WRONGLY.test(errorOf(recorded) ?? '') ? { ...recorded, status: 400 } : undefined,
  },
  {
    name: 'numbers of trace settings are numbers',
    reason: 'Triton takes 12x for 12 and -1 for 4294967295.',
    cases: [
      'trace: post {"trace_rate":"-1"}',
      'trace: post {"trace_rate":"12x"}',
      'trace: post {"log_frequency":"-1"}',
      'trace of addsub: post {"trace_rate":"-1"}',
      'trace of addsub: post {"trace_rate":"12x"}',
      'trace of addsub: post {"log_frequency":"-1"}',
    ],
    expects: (recorded, { request }) => {
      const [, setting, given] = /^\{"(trace_rate|log_frequency)":"(-1|12x)"\}$/.exec(request.body ?? '') ?? [];
      if (setting === undefined || given === undefined) return keptTraceSettings(recorded, request.path);
      return errorAnswer(400, traceNumberRefusal(setting, given));
    },
  },
  {
    name: 'reasons are messages, not tracebacks',
    reason: 'File names and lines of the server are for its log; what failed is named.',
    cases: [
      'load: broken model',
      'repository index after a failed load',
      'load: broken model again',
      'repository index with the model that exists only by its load',
      'repository index after the unload',
    ],
    expects: (recorded) =>
      withError(recorded, (message) => message.replace(TRACEBACK, `Internal: ${FAILED_SETUP}$1`)) ??
      withText(recorded, (text) =>
        text.replace(
          /"reason":"Internal: TritonModelException: ([^"\\]*)\\n\\nAt:[^"]*"/,
          `"reason":"Internal: ${FAILED_SETUP}$1"`,
        ),
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
    cases: listedCases('http', 'the log goes to a file'),
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
