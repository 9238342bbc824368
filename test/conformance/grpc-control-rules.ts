// Rules about the methods that change or tell how the server is set: repository, trace and log settings, shared memory.
import { devNull } from 'node:os';
import type { GrpcCase } from './cases.js';
import { asksFor, methodName, refusal, STATUS, success, withJson, type JsonObject } from './grpc-json.js';
import { keyRefusal, traceNumberRefusal } from './http-control-rules.js';
import type { GrpcRule } from './replay-grpc.js';

/** The first parameter of a load that brings a file; undefined when it has none. */
function fileOf(testCase: GrpcCase): string | undefined {
  if (methodName(testCase) !== 'RepositoryModelLoad') return undefined;
  const { parameters = {} } = (testCase.request ?? {}) as { readonly parameters?: JsonObject };
  return Object.keys(parameters).find((name) => name.startsWith('file:'));
}

/** What is wrong with the configurations of loads, by the names of the cases. */
const WRONG_CONFIGURATIONS: Readonly<Record<string, string>> = {
  'load with config that is not JSON': 'it is no JSON',
  'load with empty config string': 'it is no JSON',
  'load with config of another name': "it is for model 'other', expected 'notloaded'",
  'load with config of unknown key': 'cannot decode message inference.ModelConfig from JSON: key "nonsense" is unknown',
  'load with config of a bad enum': 'cannot decode enum inference.DataType from JSON: "TYPE_WRONG"',
  'load with config of negative max_batch_size': 'max_batch_size must be >= 0, got -1',
  'load with config of unknown backend': "unable to find backend library for backend 'nosuchbackend'",
};

const NAMED_WRONGLY =
  /^(failed to load '.*', failed to poll from model repository|Unable to open shared memory region: '.*'|shared memory size specified with the request for output .*)$/;

/** Trace settings that are refused here, by the names of their cases. */
const NO_NUMBERS: Readonly<Record<string, string>> = {
  'trace: rate negative': traceNumberRefusal('trace_rate', '-1'),
  'trace: rate with junk': traceNumberRefusal('trace_rate', '5x'),
  'trace: log_frequency negative': traceNumberRefusal('log_frequency', '-1'),
};

/** Settings without what Triton made of -1 and, before that, of 5x. */
function keptSettings(settings: JsonObject): JsonObject {
  const { value } = settings['log_frequency'] as { readonly value: readonly string[] };
  if (value[0] !== '4294967295') return settings;
  const { value: rate } = settings['trace_rate'] as { readonly value: readonly string[] };
  return { ...settings, log_frequency: { value: ['0'] }, trace_rate: { value: rate[0] === '5' ? ['0'] : rate } };
}

/** Models that are not bound, and of which the recorded index tells. */
const NOT_BOUND = ['seq', 'fromfile'];

export const GRPC_CONTROL_RULES: readonly GrpcRule[] = [
  {
    name: 'no model comes over the wire',
    reason: 'A model is a function that was bound: a load may change its configuration, and brings no files.',
    cases: [
      'load with file: parameter without config',
      'load a model made of file: and config',
      'ready of the model made of files',
      'infer on the model made of files',
    ],
    expects: (recorded, testCase) => {
      const { name = '' } = asksFor(testCase);
      const method = methodName(testCase);
      if (name === 'fromfile' && method === 'ModelReady') return success({});
      if (name === 'fromfile' && method === 'ModelInfer')
        return refusal(STATUS.NOT_FOUND, "Request for unknown model: 'fromfile' is not found");
      const file = fileOf(testCase);
      return file === undefined || recorded.message.startsWith('invalid value type')
        ? undefined
        : refusal(
            STATUS.UNIMPLEMENTED,
            `load parameter '${file}' is not supported: model '${name}' is what was bound under that name`,
          );
    },
  },
  {
    name: 'a wrong configuration says what is wrong',
    reason: 'Triton says of all of them that polling failed, and that the server is to blame.',
    cases: Object.keys(WRONG_CONFIGURATIONS),
    expects: (_recorded, { name }) =>
      name in WRONG_CONFIGURATIONS
        ? refusal(STATUS.INVALID_ARGUMENT, `Invalid config override: ${WRONG_CONFIGURATIONS[name]}`)
        : undefined,
  },
  {
    name: 'a group of instances has one name',
    reason:
      'With the configuration of a load Triton calls it by the name of the model, otherwise by that with a number.',
    cases: ['config after override', 'config after going back'],
    expects: (recorded, testCase) =>
      methodName(testCase) === 'ModelConfig' && asksFor(testCase).name === 'notloaded' && recorded.code === STATUS.OK
        ? withJson(recorded, ({ config }) => {
            const groups = (config as JsonObject)['instance_group'] as readonly JsonObject[];
            const named = groups.map((group) => ({ ...group, name: 'notloaded_0' }));
            return { config: { ...(config as JsonObject), instance_group: named } };
          })
        : undefined,
  },
  {
    name: 'a name that cannot be one is told so',
    reason:
      'Newer Tritons refuse empty names, paths, and keys of shared memory that are none or their own, in these words.',
    cases: [
      'load with empty name',
      'load with a path in the name',
      'shm register empty key',
      "shm register key '/'",
      'shm register key with reserved prefix',
    ],
    expects: (recorded, testCase) => {
      const { name = '' } = asksFor(testCase);
      const refuse = (text: string) => refusal(STATUS.INVALID_ARGUMENT, text);
      const key = keyRefusal(recorded.message, name);
      if (key !== undefined) return refuse(key);
      if (testCase.name === 'load with empty name')
        return refuse('Model name cannot be empty. Please enter a valid name to deploy.');
      return testCase.name === 'load with a path in the name'
        ? refuse(`invalid model name '${name}', model name must not contain path traversal characters`)
        : undefined;
    },
  },
  {
    name: 'the name of what is not there is the mistake of the client',
    reason: 'Triton answers INTERNAL.',
    cases: ['load unknown model', 'shm register unknown key', 'infer output to shm, region too small'],
    expects: (recorded) =>
      recorded.code === STATUS.INTERNAL && NAMED_WRONGLY.test(recorded.message)
        ? refusal(STATUS.INVALID_ARGUMENT, recorded.message)
        : undefined,
  },
  {
    name: 'numbers of trace settings are numbers',
    reason: 'Triton takes 5x for 5 and -1 for 4294967295.',
    cases: [
      'trace: rate negative',
      'trace: rate with junk',
      'trace: log_frequency negative',
      'trace: trace_mode',
      'trace: unknown key',
      'trace: unknown key without value',
      'trace: a good and a bad key together',
      'trace: read after a good and a bad key',
    ],
    expects: (recorded, testCase) => {
      if (methodName(testCase) !== 'TraceSetting') return undefined;
      const text = NO_NUMBERS[testCase.name];
      if (text !== undefined) return refusal(STATUS.INVALID_ARGUMENT, text);
      return withJson(recorded, (json) => ({ ...json, settings: keptSettings(json['settings'] as JsonObject) }));
    },
  },
  {
    name: 'the index is of what is bound',
    reason: 'Models that are not served here are in no list.',
    cases: ['repository index', 'repository index, ready only', 'repository index after unload'],
    expects: (recorded, testCase) =>
      methodName(testCase) === 'RepositoryIndex'
        ? withJson(recorded, (json) => ({
            ...json,
            models: (json['models'] as readonly JsonObject[]).filter(({ name }) => !NOT_BOUND.includes(name as string)),
          }))
        : undefined,
  },
  {
    name: 'the log goes to a file',
    reason: 'That of the recorded server went to standard error, where it would bury what a test has to say.',
    cases: [
      'log: read',
      'log: info off',
      'log: info on',
      'log: several',
      'log: verbose largest uint32',
      'log: verbose back to 0',
      'log: format ISO8601',
      'log: format default',
      'log: unknown key',
      'log: unknown key and a good key',
      'log: warning on',
      'log: read at the end',
    ],
    expects: (recorded, testCase) =>
      methodName(testCase) === 'LogSettings'
        ? withJson(recorded, ({ settings }) => ({
            settings: { ...(settings as JsonObject), log_file: { string_param: devNull } },
          }))
        : undefined,
  },
  {
    name: 'a level that the log does not have is refused',
    reason: 'Triton keeps the low bits: 4294967295 turns verbose lines off.',
    cases: ['log: verbose largest uint32'],
    expects: (_recorded, { name }) =>
      name === 'log: verbose largest uint32'
        ? refusal(
            STATUS.INVALID_ARGUMENT,
            "Unable to parse 'log_verbose_level', value is out of range [ 0, 2147483647 ], got: 4294967295",
          )
        : undefined,
  },
  {
    name: 'one object may be several regions',
    reason: 'Triton closes the descriptor of the first and cannot open the object again.',
    cases: ['shm register the same key as another name, page offset', 'shm status of all'],
    expects: (recorded, testCase) => {
      if (testCase.name.startsWith('shm register the same key as another name')) return success({});
      const { name } = asksFor(testCase);
      if (methodName(testCase) !== 'SystemSharedMemoryStatus' || name !== undefined) return undefined;
      const regions = (recorded.json as JsonObject | null)?.['regions'] as JsonObject | undefined;
      if (regions === undefined) return undefined;
      const second = { ...(regions['r1'] as JsonObject), name: 'rsame', offset: '4096' };
      return withJson(recorded, (json) => ({ ...json, regions: { ...regions, rsame: second } }));
    },
  },
  {
    name: 'no bytes of shared memory are a range too',
    reason: 'A tensor may be empty. Triton takes them from offset 1 on.',
    cases: ['infer input from shm, byte size 0'],
    expects: (_recorded, { name }) =>
      name === 'infer input from shm, byte size 0'
        ? refusal(
            STATUS.INVALID_ARGUMENT,
            "[request id: <id_unknown>] input byte size mismatch for input 'x' for model 'id_fp32'. Expected 16, got 0",
          )
        : undefined,
  },
  {
    name: 'CUDA shared memory is not served',
    reason: 'Needs a GPU. Answered with UNIMPLEMENTED.',
    cases: ['cuda shm register', 'cuda shm register empty'],
    expects: (_recorded, testCase) =>
      methodName(testCase) === 'CudaSharedMemoryRegister'
        ? refusal(
            STATUS.UNIMPLEMENTED,
            `failed to register CUDA shared memory region: '${asksFor(testCase).name ?? ''}', GPUs not supported`,
          )
        : undefined,
  },
];
