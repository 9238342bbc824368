// Where our `bind` differs from PyTriton's on purpose.
import type { BindAnswer, BindRule, JsonRecord } from './replay-bind.js';

const REFUSED: BindAnswer = { refused: 'INVALID_ARG', config: undefined, metadata: undefined };

function withConfig(answer: BindAnswer, change: (config: JsonRecord) => JsonRecord): BindAnswer {
  return answer.config === undefined ? answer : { ...answer, config: change(answer.config) };
}

export const BIND_RULES: readonly BindRule[] = [
  {
    name: 'models are of backend tstriton',
    reason: 'They are TypeScript functions, not files for the Python backend: no file name, no workspace path, and the platform says so.',
    expects: (recorded) => ({
      ...withConfig(recorded, (config) => ({ ...config, backend: 'tstriton', default_model_filename: '', parameters: {} })),
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
    expects: (recorded, { bind }) =>
      twice(bind.inputs.map(({ name }, index) => name ?? `INPUT_${index + 1}`)) ||
      twice(bind.outputs.map(({ name }) => name)) ||
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
];

function twice(names: readonly (string | undefined)[]): boolean {
  return new Set(names).size < names.length;
}
