// The callables that failed when PyTriton's errors were recorded, by the recorded name.
import { Tensor } from 'tstriton';

export interface Failure {
  /** What the callable says, which clients have to be told. */
  readonly message: string;
  readonly inferFunc: () => never;
}

function throwing(message: string, thrown: () => unknown = () => new Error(message)): Failure {
  return {
    message,
    inferFunc: () => {
      throw thrown();
    },
  };
}

/** Without a text the name of the error is all there is to tell. */
function nameless(name: string): Failure {
  return throwing(name, () => Object.assign(new Error(), { name }));
}

const LONG = 'x'.repeat(20_000);

export const FAILURES: Readonly<Record<string, Failure>> = {
  RuntimeError: throwing('division by zero, says the model'),
  ValueError_empty: nameless('ValueError'),
  unicode: throwing('zażółć 漢字 \0 after', () => new TypeError('zażółć 漢字 \0 after')),
  long_text: throwing(LONG),
  chained: throwing('outer text', () => new Error('outer text', { cause: new RangeError('division by zero') })),
  KeyError: throwing('nope', () => 'nope'),
  AssertionError: throwing('no'),
  StopIteration: nameless('StopIteration'),
  MemoryError: throwing('big', () => new RangeError('big')),
  PyTritonError: throwing('base'),
  PyTritonValidationError: throwing('v'),
  PyTritonInvalidOperationError: throwing('io'),
  PyTritonBadParameterError: throwing('bp'),
  PyTritonModelConfigError: throwing('mc'),
  PyTritonRuntimeError: throwing('rt'),
};

const Y = (value: number) => ({ y: Tensor.from('float32', [[value]]) });

/** Generators on a model that is not decoupled, and what is like them. */
export const ORDINARY: Readonly<Record<string, unknown>> = {
  'async-callable-on-ordinary-model': async () => [Y(1)],
  'generator-one-yield-on-ordinary-model': function* () {
    yield [Y(1)];
  },
  'generator-no-yield-on-ordinary-model': function* () {},
  'generator-three-yields-on-ordinary-model': function* () {
    for (let i = 1; i <= 3; i++) yield [Y(i)];
  },
};

export const DECOUPLED: Readonly<Record<string, unknown>> = {
  'decoupled-three': async function* () {
    for (let i = 1; i <= 3; i++) yield [Y(i)];
  },
  // oxlint-disable-next-line require-yield
  'decoupled-raise-first': async function* () {
    throw new Error('before any response');
  },
  'decoupled-raise-after-two': async function* () {
    yield [Y(1)];
    yield [Y(1)];
    throw new Error('after two');
  },
  'decoupled-empty': async function* () {},
  'decoupled-bad-second-yield': async function* () {
    yield [Y(1)];
    yield [];
  },
  'decoupled-returns-list': () => [Y(1)],
};

/** What the errors of decoupled models say. */
export const STREAM_MESSAGES: Readonly<Record<string, string>> = {
  'decoupled-raise-first': 'before any response',
  'decoupled-raise-after-two': 'after two',
};

/** Whether a text shows files or the stack of the server. */
export function tellsItsPlace(text: string): boolean {
  return /Traceback|<frames>|<path>|\\n\\nAt:|\n\s+at |file:|\.[jt]s:/.test(text);
}
