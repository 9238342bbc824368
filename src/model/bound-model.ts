// `Triton.bind` takes a bound model: a declaration with its callables. Loose callables have weaker types than the
// model, and can serve it all the same. One kind takes named tensors although the inputs are a list, which has the
// names too. The other returns names or a length that the compiler does not know: `Record<string, Tensor>` or
// `Tensor[]` instead of a literal with the model's outputs. The server checks such results when they come. A result
// with names is never loose, so that the compiler still refuses a misspelt one.

import type { Awaitable } from './awaitable.js';
import type { Callable, ContextWith, MayStream, ModelSpec, RequestWith, Results, TensorResult } from './callable.js';
import type { InferenceResponse } from './inference-response.js';
import type { InstanceGroup } from './instance-group.js';
import type { SetupContext } from './run-setup.js';
import type { Steps } from './steps.js';
import type { Tensor } from '../tensor/tensor.js';
import type {
  DtypeIn,
  Inputs,
  InputTuple,
  NamedInputs,
  OutputLike,
  Settled,
  SingleValue,
  TensorSpec,
  TensorSpecs,
} from './tensor-spec.js';

type Instance<I extends TensorSpecs, O extends TensorSpecs, Decoupled extends boolean, Method extends string, Loose> =
  Callable<I, O, Decoupled, Method> | LooseCallable<Loose, I, O, Decoupled> | InstanceGroup;

/** A model with its callable, for `Triton.bind`. A list of callables makes as many instances. */
export type BoundModel<
  I extends TensorSpecs,
  O extends TensorSpecs,
  Decoupled extends boolean,
  Method extends string = string,
  Loose = never,
> = ModelSpec<I, O, Decoupled> & {
  /**
   * Takes a list of requests and gives one result for each. `batch`, `sample` and `stream` make one of a function of tensors. Also an
   * object with a method `infer`, `{ object, method }`, an `instanceGroup`, or a list of those, each an instance of its own.
   *
   * @example
   * inferFunc: batch(({ x }) => ({ y: x.map((value) => 2 * value) }))
   */
  readonly inferFunc:
    | Instance<Settled<I>, Settled<O>, MayStream<Settled<Decoupled>>, Method, Loose>
    | readonly Instance<Settled<I>, Settled<O>, MayStream<Settled<Decoupled>>, Method, Loose>[];
  /**
   * Runs before the model is served; when it fails, the load fails. For callables of this thread: a module of an
   * instance group exports its own.
   */
  readonly setup?: (context: SetupContext) => Awaitable<void>;
  /** Runs when the server no longer serves the model. */
  readonly teardown?: () => Awaitable<void>;
};

/** `F` if it is a loose callable; otherwise never. */
export type LooseCallable<F, I extends TensorSpecs, O extends TensorSpecs, Decoupled extends boolean> = F &
  Loose<F, I, O, Decoupled>;

/** The same for a function of tensors. */
export type LooseTensorFunc<F, T, O extends TensorSpecs, Decoupled extends boolean> = F &
  (F extends TensorsFunc<T, infer R> ? AllLoose<LooseResult<R, O, Decoupled>> : never);

// Intersected with F: `unknown` keeps F, `never` refuses it.
type Loose<F, I extends TensorSpecs, O extends TensorSpecs, Decoupled extends boolean> =
  F extends RequestsFunc<Inputs<I>, infer R>
    ? AllLoose<LooseResults<R, O, Decoupled>>
    : F extends RequestsFunc<NamedInputs<I>, infer R>
      ? R extends Results<I, O, Decoupled>
        ? unknown
        : AllLoose<LooseResults<R, O, Decoupled>>
      : F extends { readonly infer: infer Method }
        ? LooseMethod<Method, I, O, Decoupled> | Misspelt<Exclude<GivenNames<Method>, keyof O>, keyof O & string>
        : F extends { readonly object: infer Self; readonly method: infer Name }
          ? LooseMethod<Self[Name & keyof Self], I, O, Decoupled>
          : F extends readonly (infer Each)[]
            ? LooseList<Each, I, O, Decoupled>
            : never;

// A list of unknown length. Compilers before 7 take the whole list for `Loose`, where it is no literal.
type LooseList<Each, I extends TensorSpecs, O extends TensorSpecs, Decoupled extends boolean> = [Each] extends [
  Callable<I, O, Decoupled> | InstanceGroup | (Each extends unknown ? LooseCallable<Each, I, O, Decoupled> : never),
]
  ? unknown
  : never;

// A method under a decorator keeps the type that it is written with: that of a function of tensors.
type LooseMethod<Method, I extends TensorSpecs, O extends TensorSpecs, Decoupled extends boolean> =
  Method extends TensorsFunc<Inputs<I>, infer R>
    ? AllLoose<LooseResult<R, O, Decoupled>>
    : Method extends TensorsFunc<NamedInputs<I>, infer R>
      ? R extends TensorResult<O, Decoupled>
        ? unknown
        : AllLoose<LooseResult<R, O, Decoupled>>
      : Method extends TensorsFunc<ValuesOf<I>, infer R>
        ? R extends TensorResult<O, Decoupled>
          ? unknown
          : AllLoose<LooseResult<R, O, Decoupled>>
        : Loose<Method, I, O, Decoupled>;

// What a method may say of its inputs under `@firstValue` and `@fillOptionals`: plain values, and none that may be absent.
type ValuesOf<I extends TensorSpecs> = I extends readonly TensorSpec[]
  ? TensorsOrValues<InputTuple<I>> & TensorsOrValues<NamedInputs<I>>
  : TensorsOrValues<NamedInputs<I>>;

type TensorsOrValues<Tensors> = {
  [K in keyof Tensors]-?: NonNullable<Tensors[K]> extends Tensor<infer D> ? Tensor<D> & SingleValue<D> : Tensors[K];
};

type RequestsFunc<T, R> = (requests: RequestWith<T>[], context: ContextWith<T>) => R;

type TensorsFunc<T, R> = (inputs: T, context: ContextWith<T>) => R;

// Of a function that may give one thing or another, both have to be loose.
type AllLoose<Answers extends boolean> = [Answers] extends [true] ? unknown : never;

type LooseResults<R, O extends TensorSpecs, Decoupled extends boolean> = R extends readonly (infer Each)[]
  ? LooseOutputs<Awaited<Each>, O>
  : R extends PromiseLike<infer Settled>
    ? LooseResults<Settled, O, Decoupled>
    : true extends Decoupled
      ? R extends Steps<infer Step>
        ? LooseResults<Step, O, false>
        : false
      : false;

type LooseResult<R, O extends TensorSpecs, Decoupled extends boolean> =
  R extends PromiseLike<infer Settled>
    ? LooseResult<Settled, O, Decoupled>
    : R extends readonly unknown[]
      ? LooseOutputs<R, O>
      : true extends Decoupled
        ? R extends Steps<infer Step>
          ? LooseOutputs<Step, O>
          : LooseOutputs<R, O>
        : LooseOutputs<R, O>;

type LooseOutputs<Outputs, O extends TensorSpecs> = 0 extends Outputs & 1 // any
  ? true
  : Outputs extends readonly (infer Each)[]
    ? number extends Outputs['length']
      ? [Each] extends [AnyOutput<O> | undefined]
        ? true
        : false
      : false
    : string extends keyof Outputs
      ? true
      : false;

// What one of the outputs may be.
type AnyOutput<O extends TensorSpecs> = OutputLike<
  DtypeIn<O[keyof O & (O extends readonly unknown[] ? number : string)]>
>;

// Adds nothing where all names are declared. Otherwise it is a type that no object has. So the compiler names the
// outputs first when it explains why an object is not one of the model's callables; it would mention the method too
// late.
type Misspelt<Names extends string, Declared extends string> = [Names] extends [never]
  ? never
  : UndeclaredOutput<Names, Declared>;

interface UndeclaredOutput<Names extends string, Declared extends string> {
  readonly infer: { readonly undeclared: Names; readonly declared: Declared };
}

/** The output names in a method's result; `never` where they are unknown. */
type GivenNames<Method> = Method extends (...args: never[]) => infer R
  ? NamesInAny<R extends PromiseLike<infer Settled> ? Settled : R>
  : never;

type NamesInAny<R> = R extends readonly (infer Each)[]
  ? NamesIn<Awaited<Each>>
  : R extends Steps<infer Step>
    ? Step extends readonly (infer Each)[]
      ? NamesIn<Each>
      : NamesIn<Step>
    : NamesIn<R>;

type NamesIn<Outputs> = Outputs extends NoRecord
  ? never
  : string extends keyof Outputs
    ? never
    : keyof Outputs & string;

type NoRecord =
  | Steps<unknown>
  | Error
  | InferenceResponse
  | Pick<RequestWith<unknown>, 'inputs' | 'requestedOutputs'>
  | Tensor
  | readonly unknown[]
  | ArrayBufferView
  | string
  | number
  | bigint
  | boolean
  | undefined;
