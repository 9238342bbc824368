// Makes the inputs of a model that declares them as a list: an array in declaration order that has the names too. Name
// and position are one place, so a value set by name is read by position. Inputs that were not sent have no name, and
// undefined in their position.
//
// `Object.keys`, `values` and `entries` give the names only, and so does a copy by `{ ...inputs }`. So decorators, which
// work with names, treat lists and records alike.

import type { Tensor } from '../tensor/tensor.js';
import type { CompleteModelConfig } from './complete-model-config.js';

/** Tensors by name: a record, or an input list. */
export type NamedTensors = Record<string, Tensor>;
type InputListClass = new () => NamedTensors;

// A member of each list, so that a copy by spreading has it too. There is no such member for `Symbol.iterator`: as soon as
// one array of a process has its own, V8 walks all arrays by the slow way, and spreads and copies take ten times as long.
const FORM = Symbol.for('tstriton.InputList');

/** Empty inputs of a model, to be filled by name in declaration order. */
export function emptyInputs({
  inputs,
  listsInputs,
}: Pick<CompleteModelConfig, 'inputs' | 'listsInputs'>): NamedTensors {
  if (listsInputs !== true) return {};
  const ListClass = classes.get(inputs) ?? classOf(inputs);
  return ListClass === undefined ? {} : new ListClass();
}

/** `tensors` in the form of `inputs`, for a decorator that changes them. */
export function inFormOf(inputs: object, tensors: Readonly<NamedTensors>): NamedTensors {
  const ListClass = formOf(inputs);
  return ListClass === undefined ? tensors : Object.assign(new ListClass(), tensors);
}

/**
 * The same inputs with other tensors under some names. It is for decorators at the level of tensors, whichever form the
 * model's inputs have.
 *
 * @example
 * (inputs, context) => fn(withTensors(inputs, { image: normalised }), context)
 */
export function withTensors<T extends object>(inputs: T, tensors: Readonly<Record<string, Tensor>>): T {
  return inFormOf(inputs, { ...(inputs as NamedTensors), ...tensors }) as T;
}

/** True for an input list, of this or another copy of the package, and for a copy of one by spreading. */
export function isInputList(value: unknown): boolean {
  return formOf(value) !== undefined;
}

function formOf(value: unknown): InputListClass | undefined {
  return (value as { readonly [FORM]?: InputListClass } | null | undefined)?.[FORM];
}

/** One class per model: undefined where names cannot be members of an array. */
const classes = new WeakMap<object, InputListClass | undefined>();

function classOf(inputs: CompleteModelConfig['inputs']): InputListClass | undefined {
  const names = inputs.map(({ name }) => name);
  const ListClass = names.some(isOfArrays) ? undefined : makeClass(names);
  classes.set(inputs, ListClass);
  return ListClass;
}

/** Whether every array has this member. A model with an input of such a name gets its inputs as a record. */
function isOfArrays(name: string): boolean {
  return name in Array.prototype || /^(0|[1-9][0-9]*)$/.test(name);
}

function makeClass(names: readonly string[]): InputListClass {
  class InputList extends Array<Tensor | undefined> {
    readonly [FORM]: unknown = InputList;

    constructor() {
      super(names.length);
    }

    /** `map` and similar methods make an ordinary array. */
    static override get [Symbol.species](): ArrayConstructor {
      return Array;
    }

    /** For the console, which would otherwise show holes. */
    [Symbol.for('nodejs.util.inspect.custom')](): object {
      return Object.fromEntries(Object.entries(this));
    }
  }
  names.forEach((name, position) => {
    Object.defineProperty(InputList.prototype, position, {
      get(this: Readonly<NamedTensors>) {
        return this[name];
      },
      set(this: NamedTensors, tensor: Tensor) {
        this[name] = tensor;
      },
    });
  });
  return InputList as unknown as InputListClass;
}
