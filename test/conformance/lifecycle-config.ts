// What a server makes of its options and of the environment, as the life cycle cases were recorded. Nothing runs.
import { Triton, type BoundModel, type TensorSpecs } from 'tstriton';

import { readEnvironment } from '../../src/config/read-environment.js';
import type { LifecycleCase } from './lifecycle-cases.js';
import { refusalOf } from './refusal.js';
import type { LifecycleAnswer } from './replay-lifecycle.js';

type Found = string | number | boolean | object | void;
export type Asker = (testCase: LifecycleCase) => Found | Promise<Found>;
export type AnyModel = BoundModel<TensorSpecs, TensorSpecs, boolean>;

export const MODEL: AnyModel = {
  modelName: 'm',
  inferFunc: ((requests: readonly unknown[]) => requests) as never,
  inputs: [{ name: 'x', dtype: 'float32', shape: [1] }],
  outputs: [{ name: 'y', dtype: 'float32', shape: [1] }],
};

function bind(...changes: readonly object[]): string {
  const triton = new Triton();
  for (const change of changes) triton.bind({ ...MODEL, ...change } as AnyModel);
  return 'accepted';
}

/** `httpPort=9000`, or `ignored`. */
function fromEnvironment(variables: Readonly<Record<string, string>>, option: string | undefined): string {
  const { values, warnings } = readEnvironment(variables);
  if (warnings.length > 0) return 'warned';
  return option === undefined ? 'ignored' : `${option}=${JSON.stringify(values[option as keyof typeof values])}`;
}

function camelCase(name: string): string {
  return name.toLowerCase().replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** The value that stands for a recorded callable. */
const CALLABLES: Readonly<Record<string, unknown>> = {
  None: null,
  '5': 5,
  text: 'model.py',
  'empty list': [],
  'list with None': [null],
  dict: { call: MODEL.inferFunc },
  class: class Model {},
};

/** Askers throw for what is refused. */
export const CONFIG_ASKERS: Readonly<Record<string, Asker>> = {
  'environment-variable': ({ variable = '', value = '' }) => {
    const option = camelCase(variable.slice('PYTRITON_TRITON_CONFIG_'.length).replace(/_[0-9]+$/, ''));
    return fromEnvironment({ [variable]: value }, option === 'logVerbosity' ? 'logVerbose' : option);
  },
  'environment-list-order': () =>
    fromEnvironment(
      {
        PYTRITON_TRITON_CONFIG_METRICS_CONFIG_2: '_2',
        PYTRITON_TRITON_CONFIG_METRICS_CONFIG_0: '_0',
        PYTRITON_TRITON_CONFIG_METRICS_CONFIG_10: '10',
      },
      'metricsConfig',
    ),
  'config-both-protocols-off': () => new Triton({ allowHttp: false, allowGrpc: false }).run(),
  'config-positional': () => void new Triton(8000 as never),
  'config-unknown-field': () => void new Triton({ nope: 1 } as never),
  'config-from-dict-unknown': () => void new Triton({ httpPort: 9, nope: 1 } as never),
  'config-text-port': () => void new Triton({ httpPort: 'x' as never }),
  'security-config': ({ args: { access_token: accessToken, restricted_endpoints: restrictedEndpoints } = {} }) => {
    const given = { ...(accessToken && { accessToken }), ...(restrictedEndpoints && { restrictedEndpoints }) };
    return `a token of ${new Triton(given).accessToken?.length ?? 0}`;
  },
  'security-config-empty-token': () => void new Triton({ accessToken: '' }),
  'triton-positional': () => void new Triton('models' as never),
  'is_alive-before-run': () => new Triton().isReady,
  'is_connected-before-run': () => new Triton().isReady,
  'stop-before-run': () => new Triton().stop(),
  'bind-name': ({ model_name: modelName }) => bind({ modelName }),
  'bind-same-name': () => bind({}, {}),
  'bind-same-name-other-case': () => bind({}, { modelName: 'M' }),
  'bind-same-name-other-version': () => bind({}, { modelVersion: 2 }),
  'bind-callable': ({ callable = '' }) => bind({ inferFunc: CALLABLES[callable] }),
  'bind-inputs-none': () => bind({ inputs: null }),
  'bind-inputs-dict': () => bind({ inputs: { x: { dtype: 'float32', shape: [1] } } }),
  'bind-version-text': () => bind({ modelVersion: 'one' }),
  'bind-version-zero': () => bind({ modelVersion: 0 }),
};

/** `refused`, and how, or what an asker found. */
export async function outcomeOf(asked: () => ReturnType<Asker> | undefined): Promise<LifecycleAnswer> {
  try {
    const found = await asked();
    const text = found === undefined || typeof found === 'object' ? 'accepted' : String(found);
    return { found: text, refusal: undefined };
  } catch (error) {
    return { found: 'refused', refusal: refusalOf(error) };
  }
}
