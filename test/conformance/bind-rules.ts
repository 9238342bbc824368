// Where our `bind` differs from PyTriton's on purpose.
import type { BindAnswer, BindRule, JsonRecord } from './replay-bind.js';

const REFUSED: BindAnswer = { refused: 'INVALID_ARG', config: undefined, metadata: undefined };

function withConfig(answer: BindAnswer, change: (config: JsonRecord) => JsonRecord): BindAnswer {
  return answer.config === undefined ? answer : { ...answer, config: change(answer.config) };
}

export const BIND_RULES: readonly BindRule[] = [
  {
    name: 'a warm-up input says where its data comes from',
    reason: 'PyTriton takes it without and then warms nothing up, with a line in the log.',
    expects: (_recorded, { bind }) => (bind.config?.['model_warmup'] === undefined ? undefined : REFUSED),
  },
  {
    name: 'models are of backend tstriton',
    reason:
      'They are TypeScript functions, not files for the Python backend: no file name, no workspace path, and the platform says so.',
    expects: (recorded) => ({
      ...withConfig(recorded, (config) => ({
        ...config,
        backend: 'tstriton',
        default_model_filename: '',
        parameters: {},
      })),
      metadata: recorded.metadata === undefined ? undefined : { ...recorded.metadata, platform: 'tstriton' },
    }),
  },
  {
    name: 'every bound version is served',
    reason: 'Whoever binds a version wants it served; latest(1) would silently drop all but the highest.',
    expects: (recorded) => withConfig(recorded, (config) => ({ ...config, version_policy: { all: {} } })),
  },
  {
    name: 'bind refuses what cannot work',
    reason:
      'PyTriton accepts a tensor declared twice, a queue delay below zero and a model without a callable; requests then go wrong or hang.',
    expects: (_recorded, { bind }) =>
      twice(bind.inputs.map(({ name }, index) => name ?? `INPUT_${index + 1}`)) ||
      twice(bind.outputs.map(({ name }, index) => name ?? `OUTPUT_${index + 1}`)) ||
      (bind.config?.['batcher'] as JsonRecord | undefined)?.['max_queue_delay_microseconds'] === -1 ||
      bind.callables === 0
        ? REFUSED
        : undefined,
  },
  {
    name: 'an empty tensor name is a mistake',
    reason: 'PyTriton replaces it by a numbered name that nobody wrote; leaving the name out says that plainly.',
    expects: (_recorded, { bind }) => (bind.inputs.some(({ name }) => name === '') ? REFUSED : undefined),
  },
  {
    name: 'a queue policy that was given is shown',
    reason: 'PyTriton drops one in which all settings have their defaults.',
    expects: (recorded, { bind }) => {
      const batcher = bind.config?.['batcher'] as JsonRecord | null | undefined;
      const policy = batcher?.['default_queue_policy'] as JsonRecord | undefined;
      return policy === undefined || Object.keys(policy).length > 0
        ? undefined
        : withConfig(recorded, withDefaultPolicy);
    },
  },
  {
    name: 'dtypes have names',
    reason: "TypeScript has no numpy: 'float32' is how its dtype is written.",
    allows: (ours, _recorded, { bind }) =>
      bind.inputs[0]?.dtype === 'text:float32' && tensors(ours.config?.['input'])[0]?.['data_type'] === 'TYPE_FP32',
  },
  {
    name: 'a scalar has the shape []',
    reason: 'Triton wants it declared as [1] and reshaped; here a row is a scalar when its shape says so.',
    allows: (ours, _recorded, { bind }) => {
      if (bind.inputs[0]?.shape.length !== 0) return false;
      const wire = bind.config?.['batching'] === false ? '[]' : '[-1]';
      const [declared, described] = [tensors(ours.config?.['input'])[0], tensors(ours.metadata?.['inputs'])[0]];
      return JSON.stringify(declared?.['dims']) === '[]' && JSON.stringify(described?.['shape']) === wire;
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

function tensors(list: unknown): readonly JsonRecord[] {
  return (list ?? []) as readonly JsonRecord[];
}

function twice(names: readonly (string | undefined)[]): boolean {
  return new Set(names).size < names.length;
}
