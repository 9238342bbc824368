// `firstValue` is for inputs that have one value for the whole batch, such as a temperature.

import { invalidArg, type TritonError } from '../errors.js';
import type { InferenceContext, TensorFunc, TensorResult } from '../model/callable.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { markDecorated } from '../model/decorated.js';
import { inFormOf } from '../model/input-list.js';
import type {
  AnyInputs,
  DtypeIn,
  InputName,
  ListAndNames,
  NameAt,
  NamedInputs,
  NamedSpecs,
  OrAbsent,
  SingleValue,
  TensorSpec,
  TensorSpecs,
  Unchecked,
} from '../model/tensor-spec.js';
import { elementCount } from '../tensor/shape.js';
import type { Tensor } from '../tensor/tensor.js';
import {
  type AnyMethod,
  aroundFunctionOrMethod,
  expectContext,
  expectInput,
  expectNames,
  type MethodDecorator,
  type Tensors,
} from './decorator-parts.js';
import { hasEqualRows } from './row-values.js';

export interface FirstValueOptions<Squeeze extends boolean = boolean> {
  /** Gives inputs whose declared shape is one element, `[1]` say, as plain values. Default true. */
  readonly squeezeSingleValues?: Squeeze;
  /** Refuses batches whose rows differ in the inputs. Default true. */
  readonly strict?: boolean;
}

type FirstOf<Spec, Squeeze extends boolean> = Spec extends { readonly shape: infer Shape extends readonly number[] }
  ? Squeeze extends false
    ? Tensor<DtypeIn<Spec>>
    : number extends Shape[number]
      ? Tensor<DtypeIn<Spec>> | SingleValue<DtypeIn<Spec>>
      : Shape extends readonly 1[]
        ? SingleValue<DtypeIn<Spec>>
        : Tensor<DtypeIn<Spec>>
  : never;

/** A model's inputs, the named ones as one row or one value instead of all rows. */
export type FirstValues<
  I extends TensorSpecs,
  Names extends string,
  Squeeze extends boolean = true,
> = TensorSpecs extends I
  ? AnyInputs & { readonly [Name in Names]: Unchecked }
  : I extends readonly TensorSpec[]
    ? ListAndNames<I, FirstTuple<I, Names, Squeeze>, FirstByName<I, Names, Squeeze>>
    : FirstByName<I, Names, Squeeze>;

type FirstByName<I extends TensorSpecs, Names extends string, Squeeze extends boolean> = {
  readonly [K in keyof NamedInputs<I>]: K extends Names
    ? FirstOf<NamedSpecs<I, 'INPUT'>[K & keyof NamedSpecs<I, 'INPUT'>], Squeeze>
    : NamedInputs<I>[K];
};

type FirstTuple<I extends readonly TensorSpec[], Names extends string, Squeeze extends boolean> = {
  -readonly [K in keyof I]: NameAt<I[K], K, 'INPUT'> extends Names
    ? FirstOf<I[K], Squeeze> | OrAbsent<I[K]>
    : Tensor<DtypeIn<I[K]>> | OrAbsent<I[K]>;
};

/** The function under `firstValue`. */
export interface ValueFunc<
  I extends TensorSpecs,
  O extends TensorSpecs,
  out Decoupled extends boolean,
  Names extends string,
  Squeeze extends boolean = true,
> {
  (inputs: FirstValues<I, Names, Squeeze>, context: InferenceContext<I>): TensorResult<O, Decoupled>;
}

/**
 * Gives `fn` the first row of the named inputs in place of all rows. An input whose declared shape is one element
 * becomes a plain value, any other a Tensor without the batch axis. Rows that differ are refused unless
 * `strict: false`; `groupByValues` around it makes them the same. PyTriton's `@first_value`.
 *
 * @example
 * ```ts
 * batch(firstValue(['temperature'], ({ prompt, temperature }) => generate(prompt, temperature)))
 * // On a method:
 * @batch @firstValue(['temperature']) infer({ prompt, temperature }: { prompt: Tensor; temperature: number }) {…}
 * ```
 */
export function firstValue<
  I extends TensorSpecs = TensorSpecs,
  O extends TensorSpecs = TensorSpecs,
  Decoupled extends boolean = Unchecked,
  const Names extends InputName<I> = InputName<I>,
  const Squeeze extends boolean = true,
>(
  names: readonly Names[],
  fn: ValueFunc<I, O, Decoupled, Names, Squeeze>,
  options?: FirstValueOptions<Squeeze>,
): TensorFunc<I, O, Decoupled>;
/** As a decorator of a method: `@firstValue(['temperature']) infer(inputs, context) {…}`. */
export function firstValue(names: readonly string[], options?: FirstValueOptions): MethodDecorator;
export function firstValue(
  names: readonly string[],
  fn?: AnyMethod | FirstValueOptions,
  options: FirstValueOptions = {},
): AnyMethod {
  expectNames(names, 'firstValue');
  return aroundFunctionOrMethod(
    (method, given, decorated) => firstOf(names, method, { ...given, decorated }),
    fn,
    options,
  );
}

interface FirstOptions extends FirstValueOptions {
  readonly decorated: ClassMethodDecoratorContext | undefined;
}

function firstOf(names: readonly string[], fn: AnyMethod, options: FirstOptions): AnyMethod {
  const { squeezeSingleValues = true, strict = true, decorated } = options;
  const infer = fn as (inputs: Readonly<Record<string, unknown>>, context: InferenceContext) => unknown;
  function first(this: unknown, inputs: Tensors, context: InferenceContext): unknown {
    expectContext(context, 'firstValue');
    const values: Record<string, unknown> = inFormOf(inputs, { ...inputs });
    for (const name of names) {
      const tensor = inputs[name];
      if (tensor === undefined) continue;
      if (strict && !hasEqualRows(tensor)) throw differentRows(name, context.modelName);
      const row = tensor.row(0);
      values[name] = squeezeSingleValues && isSingle(name, context.modelConfig) ? row.reshape([]).toNested() : row;
    }
    return infer.call(this, values, context);
  }
  return markDecorated(first, 'firstValue', fn, {
    decorated,
    check: (config) => {
      for (const name of names) expectInput(name, config, 'firstValue');
    },
  });
}

/** Whether the declared shape, not the actual one, is one element. */
function isSingle(name: string, { inputs }: CompleteModelConfig): boolean {
  const shape = inputs.find((input) => input.name === name)?.shape ?? [];
  return elementCount(shape.map((dim) => (dim === -1 ? 0 : dim))) === 1;
}

function differentRows(name: string, model: string): TritonError {
  return invalidArg(
    `the rows of input '${name}' for model '${model}' have different values, expected one value for the batch; ` +
      `put groupByValues(['${name}'], …) around firstValue, or pass strict: false to take the first row's`,
  );
}
