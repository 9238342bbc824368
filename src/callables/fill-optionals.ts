// `fillOptionals` gives optional inputs a default, so that the function under it always has them.

import { expectObject } from '../checks/check.js';
import { invalidArg } from '../errors.js';
import type { AnyInferFunc } from '../model/callable-function.js';
import type { InferenceContext, InferenceRequest, InferFunc } from '../model/callable.js';
import type { CompleteModelConfig, CompleteTensorSpec } from '../model/complete-model-config.js';
import { markDecorated } from '../model/decorated.js';
import { withRequests } from '../model/derived-context.js';
import { rowsOf, withInputs } from '../model/inference-request.js';
import { tensorFromValue } from '../model/tensor-from-value.js';
import type {
  DtypeIn,
  InputName,
  NameAt,
  NamedSpecs,
  PlainElement,
  Settled,
  TensorLike,
  TensorSpec,
  TensorSpecs,
  Unchecked,
} from '../model/tensor-spec.js';
import type { DtypeLike } from '../tensor/dtype.js';
import type { Nested } from '../tensor/nested.js';
import { formatShape, matchesShape } from '../tensor/shape.js';
import { Tensor } from '../tensor/tensor.js';
import { type AnyMethod, expectContext, expectInput, type MethodDecorator, type Tensors } from './decorator-parts.js';
import { repeatLastRow } from './rows.js';

type Specs<I extends TensorSpecs> = NamedSpecs<I, 'INPUT'>;

/** The names of a model's optional inputs; any string where they are known only at run time. */
export type OptionalInputName<I extends TensorSpecs> =
  string extends InputName<I>
    ? string
    : { [K in keyof Specs<I>]: Specs<I>[K] extends { readonly optional: true } ? K & string : never }[keyof Specs<I>];

/** A default for an input: a value of the declared shape, without a batch axis; one element may stand alone. */
export type DefaultValue<Spec> = TensorLike<DtypeIn<Spec>> | PlainElement<DtypeIn<Spec>>;

// The compiler shows this text for names that are not optional inputs of the model.
type DefaultOf<I extends TensorSpecs, Name extends string> =
  Name extends OptionalInputName<I>
    ? DefaultValue<Specs<I>[Name & keyof Specs<I>]>
    : `${Name} is no optional input of the model`;

type Present<Spec, Name> = Spec extends {
  readonly dtype: infer D extends DtypeLike;
  readonly shape: infer Shape extends readonly number[];
}
  ? Name extends string
    ? { readonly name: Name; readonly dtype: D; readonly shape: Shape }
    : { readonly dtype: D; readonly shape: Shape }
  : never;

/** A model's inputs with the named ones no longer optional, in the form that they were declared in. */
export type FilledSpecs<I extends TensorSpecs, Names extends string> = TensorSpecs extends I
  ? TensorSpecs
  : I extends readonly TensorSpec[]
    ? FilledList<I, Names>
    : FilledRecord<I, Names>;

type FilledList<I extends readonly TensorSpec[], Names extends string> = {
  readonly [K in keyof I]: NameAt<I[K], K, 'INPUT'> extends Names ? Present<I[K], NameAt<I[K], K, 'INPUT'>> : I[K];
};

type FilledRecord<I extends TensorSpecs, Names extends string> = {
  readonly [K in keyof Specs<I> & string]: K extends Names
    ? Present<Specs<I>[K], undefined>
    : Specs<I>[K] extends infer Spec extends Omit<TensorSpec, 'name'>
      ? Spec
      : never;
};

/**
 * Adds the default of each optional input that a request leaves out, repeated for each of its rows. So `fn` always gets
 * the input. PyTriton's `@fill_optionals`.
 *
 * @example
 * ```ts
 * fillOptionals({ temperature: 0.7 }, batch(({ prompt, temperature }) => generate(prompt, temperature.data)))
 * // On a method:
 * @fillOptionals({ temperature: 0.7 }) @batch infer({ prompt, temperature }: { prompt: Tensor; temperature: Tensor }) {…}
 * ```
 */
export function fillOptionals<
  I extends TensorSpecs = TensorSpecs,
  O extends TensorSpecs = TensorSpecs,
  Decoupled extends boolean = Unchecked,
  Names extends string = OptionalInputName<I>,
>(
  defaults: { readonly [Name in Names]: DefaultOf<I, Name> },
  fn: InferFunc<FilledSpecs<Settled<I>, Settled<Names>>, O, Decoupled>,
): InferFunc<I, O, Decoupled>;
/** As a decorator of a method: `@fillOptionals({ temperature: 0.7 }) @batch infer(inputs, context) {…}`. */
export function fillOptionals(defaults: Readonly<Record<string, unknown>>): MethodDecorator;
export function fillOptionals(defaults: object, fn?: AnyMethod): AnyMethod {
  const decorator: MethodDecorator = (method, decorated) => filledFrom(defaults, method, decorated) as typeof method;
  const filled = fn === undefined ? decorator : filledFrom(defaults, fn);
  expectObject(defaults, 'the defaults of fillOptionals');
  return filled;
}

function filledFrom(defaults: object, fn: AnyMethod, decorated?: ClassMethodDecoratorContext): AnyMethod {
  const infer = fn as AnyInferFunc;
  // A decorated function serves one model, as a rule; its defaults are made once.
  let made: { readonly config: CompleteModelConfig; readonly tensors: Tensors } | undefined;
  function filling(this: unknown, requests: readonly InferenceRequest[], context: InferenceContext): unknown {
    const { modelConfig } = expectContext(context, 'fillOptionals');
    if (made?.config !== modelConfig) made = { config: modelConfig, tensors: makeDefaults(defaults, modelConfig) };
    const { tensors } = made;
    const names = Object.keys(tensors);
    if (requests.every(({ inputs }) => names.every((name) => Object.hasOwn(inputs, name)))) {
      return infer.call(this, requests, context);
    }
    const filled = requests.map((request) => fill(request, tensors, modelConfig));
    return infer.call(this, filled, withRequests(context, filled));
  }
  return markDecorated(filling, 'fillOptionals', fn, {
    decorated,
    check: (config) => void makeDefaults(defaults, config),
  });
}

function fill(
  request: InferenceRequest,
  defaults: Tensors,
  { inputs, maxBatchSize }: CompleteModelConfig,
): InferenceRequest {
  const given = request.inputs as Tensors;
  const filled: Record<string, Tensor> = {};
  for (const { name } of inputs) {
    const tensor = given[name] ?? defaultFor(defaults[name], maxBatchSize > 0 ? rowsOf(request) : undefined);
    if (tensor !== undefined) filled[name] = tensor;
  }
  return withInputs(request, filled) as InferenceRequest;
}

/** A copy, for inputs belong to the callable: one row for each of the request's. */
function defaultFor(tensor: Tensor | undefined, rows: number | undefined): Tensor | undefined {
  if (tensor === undefined) return undefined;
  if (rows === undefined) return new Tensor(tensor.dtype, tensor.data.slice() as typeof tensor.data, tensor.shape);
  return repeatLastRow(tensor.reshape([1, ...tensor.shape]), rows);
}

function makeDefaults(defaults: object, config: CompleteModelConfig): Tensors {
  return Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => {
      const spec = expectInput(name, config, 'fillOptionals');
      if (!spec.optional) {
        throw invalidArg(
          `fillOptionals has a default for input '${name}' of model '${config.name}', which is not optional`,
        );
      }
      return [name, makeDefault(value, spec, config.name)];
    }),
  );
}

function makeDefault(value: unknown, spec: CompleteTensorSpec, model: string): Tensor {
  const { name, dtype, shape } = spec;
  const what = `the default of input '${name}' of model '${model}'`;
  const tensor = Tensor.is(value)
    ? value
    : tensorFromValue(isElement(value, spec) ? [value as Nested] : value, {
        what,
        dtype,
        shape,
        declared: shape,
        converts: false,
      });
  if (tensor.dtype !== dtype) {
    throw invalidArg(`${what} has dtype ${tensor.dtype}, expected ${dtype}`);
  }
  if (!matchesShape(shape, tensor.shape)) {
    throw invalidArg(
      `${what} has shape ${formatShape(tensor.shape)}, expected ${formatShape(shape)}, without a batch axis`,
    );
  }
  return tensor;
}

function isElement(value: unknown, { dtype }: CompleteTensorSpec): boolean {
  if (['number', 'bigint', 'boolean', 'string'].includes(typeof value)) return true;
  return dtype === 'bytes' && value instanceof Uint8Array;
}
