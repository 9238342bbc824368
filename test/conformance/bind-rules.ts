// Where our `bind` differs from PyTriton's on purpose.
import { BIND_REFUSALS, MORE_REFUSALS } from './bind-refusals.js';
import { readCases, type BindCase } from './cases.js';
import {
  recordedAnswer,
  type BindAnswer,
  type BindRule,
  type JsonRecord,
  type NamedCase,
  type Told,
} from './replay-bind.js';
import { listedCases } from './listed-cases.js';

/** Refused with our text. A model that is refused is not there. */
function refused({ name }: NamedCase): BindAnswer {
  const text = BIND_REFUSALS[name] ?? MORE_REFUSALS[name] ?? '';
  const unknown = { status: 404, body: { error: `Request for unknown model: '${name}' is not found` } };
  return { refused: { code: 'INVALID_ARG', text }, config: unknown, metadata: unknown };
}

const BIND_CASES = readCases<BindCase>('pytriton/model-config.jsonl');

/** What is recorded of the model of this name, as it would be of another one whose input has these dimensions. */
function asIf(like: string, { name, bind }: NamedCase, dims: readonly number[]): BindAnswer {
  const recorded = recordedAnswer(BIND_CASES.find((testCase) => testCase.bind.model_name === like)!);
  const answer = JSON.parse(JSON.stringify(recorded).replaceAll(like, name)) as BindAnswer;
  const [input] = bind.inputs;
  const batched = Number(answer.config.body['max_batch_size']) > 0;
  const withInput = ({ status, body }: Told, list: string, shape: JsonRecord): Told => {
    const [first] = body[list] as readonly JsonRecord[];
    return { status, body: { ...body, [list]: [{ ...first, name: input!.name, ...shape }] } };
  };
  return {
    refused: undefined,
    config: withInput(answer.config, 'input', { dims }),
    metadata: withInput(answer.metadata, 'inputs', { shape: batched ? [-1, ...dims] : dims }),
  };
}

function withConfig(answer: BindAnswer, change: (config: JsonRecord) => JsonRecord): BindAnswer {
  const { status, body } = answer.config;
  return status === 200 ? { ...answer, config: { status, body: change(body) } } : answer;
}

/** Rules about what is served, whether PyTriton serves it or not. */
const SERVED_RULES: readonly BindRule[] = [
  {
    name: 'models are of backend tstriton',
    reason:
      'They are TypeScript functions, not files for the Python backend: no file name, no workspace path, and the platform says so.',
    cases: listedCases('bind', 'models are of backend tstriton'),
    expects: (recorded) => {
      const { status, body } = recorded.metadata;
      if (status !== 200) return undefined;
      const ours = { backend: 'tstriton', default_model_filename: '', parameters: {} };
      const metadata = { status, body: { ...body, platform: 'tstriton' } };
      return { ...withConfig(recorded, (config) => ({ ...config, ...ours })), metadata };
    },
  },
  {
    name: 'every bound version is served',
    reason: 'Whoever binds a version wants it served; latest(1) would silently drop all but the highest.',
    cases: listedCases('bind', 'every bound version is served'),
    expects: (recorded) => withConfig(recorded, (config) => ({ ...config, version_policy: { all: {} } })),
  },
];

export const BIND_RULES: readonly BindRule[] = [
  {
    name: 'a warm-up input says where its data comes from',
    reason: 'PyTriton takes it without and then warms nothing up, with a line in the log.',
    cases: ['warmup'],
    expects: (_recorded, testCase) => refused(testCase),
  },
  {
    name: 'bind refuses what cannot work',
    reason:
      'PyTriton accepts a tensor declared twice, a queue delay below zero and a model without a callable; requests then go wrong or hang.',
    cases: ['delay_negative', 'instances0', 'unnamed_clash', 'twice_same_input', 'twice_same_output'],
    expects: (_recorded, testCase) => refused(testCase),
  },
  {
    name: 'an empty tensor name is a mistake',
    reason: 'PyTriton replaces it by a numbered name that nobody wrote; leaving the name out says that plainly.',
    cases: ['empty_tensor_name'],
    expects: (_recorded, testCase) => refused(testCase),
  },
  {
    name: 'a queue policy that was given is shown',
    reason: 'PyTriton drops one in which all settings have their defaults.',
    cases: ['queue_default'],
    expects: (recorded) => withConfig(recorded, withDefaultPolicy),
  },
  {
    name: 'dtypes have names',
    reason: "TypeScript has no numpy: 'float32' is how its dtype is written.",
    cases: ['dtype_text_float32'],
    expects: (_recorded, testCase) => asIf('dims_float', testCase, [1]),
  },
  {
    name: 'a scalar has the shape []',
    reason: 'Triton wants it declared as [1] and reshaped; here a row is a scalar when its shape says so.',
    cases: ['dims_scalar', 'dims_scalar_nobatching'],
    expects: (_recorded, testCase) => asIf(testCase.name === 'dims_scalar' ? 'dims_float' : 'nobatching', testCase, []),
  },
  ...SERVED_RULES,
  {
    name: 'bind says what is wrong',
    reason:
      "PyTriton crashes over some mistakes, and has Triton find others, whose reason is in the server's log only, and which leave a model without versions. What both say in words of Python is said in those of TypeScript.",
    cases: Object.keys(BIND_REFUSALS),
    expects: (recorded, testCase) => ({ ...recorded, refused: refused(testCase).refused }),
  },
  {
    name: 'what is refused is not there',
    reason: 'PyTriton leaves a model without versions behind where Triton could not load it.',
    cases: ['dims_zero', 'dims_minus_two'],
    expects: (recorded, testCase) => {
      const { config, metadata } = refused(testCase);
      return recorded.refused === undefined ? undefined : { ...recorded, config, metadata };
    },
  },
];

function withDefaultPolicy(config: JsonRecord): JsonRecord {
  const policy = {
    timeout_action: 'REJECT',
    default_timeout_microseconds: 0,
    allow_timeout_override: false,
    max_queue_size: 0,
  };
  return {
    ...config,
    dynamic_batching: { ...(config['dynamic_batching'] as JsonRecord), default_queue_policy: policy },
  };
}
