// What `Triton.bind` takes: a declaration and what it is bound to.
// Loose callables know less than the model says, and serve it all the same: functions of named tensors for inputs that
// are a list, which have the names too; and functions whose results have names that the compiler does not know,
// `Record<string, Tensor>` instead of a literal with the model's outputs. The latter are checked when their results
// come. A result with names is never loose, so that a misspelt one is still refused.

import type { Awaitable } from './awaitable.js';
import type {
  Callable,
  ContextWith,
  InferenceContext,
  MayStream,
  ModelSpec,
  RequestWith,
  Results,
} from './callable.js';
import type { InferenceResponse } from './inference-response.js';
import type { InstanceGroup } from './instance-group.js';
import type { SetupContext } from './run-setup.js';
import type { Steps } from './steps.js';
import type { Inputs, NamedInputs, Settled, TensorSpecs } from './tensor-spec.js';

type Instance<I extends TensorSpecs, O extends TensorSpecs, Decoupled extends boolean, Method extends string, Loose> =
  Callable<I, O, Decoupled, Method> | LooseCallable<Loose, I, O, Decoupled> | InstanceGroup;

/** A model with its callable: what `Triton.bind` takes. A list of callables makes as many instances. */
export type BoundModel<
  I extends TensorSpecs,
  O extends TensorSpecs,
  Decoupled extends boolean,
  Method extends string = string,
  Loose = never,
> = ModelSpec<I, O, Decoupled> & {
  readonly inferFunc:
    | Instance<Settled<I>, Settled<O>, MayStream<Settled<Decoupled>>, Method, Loose>
    | readonly Instance<Settled<I>, Settled<O>, MayStream<Settled<Decoupled>>, Method, Loose>[];
  /**
   * Runs before the model is served; when it fails, the load fails. For callables of this thread: a module of an
   * instance group exports its own.
   */
  readonly setup?: (context: SetupContext) => Awaitable<void>;
  /** Runs when the model is served no more. */
  readonly teardown?: () => Awaitable<void>;
};

/** `F` where it is such a callable; otherwise never. */
export type LooseCallable<F, I extends TensorSpecs, O extends TensorSpecs, Decoupled extends boolean> = F &
  Loose<F, I, O, Decoupled>;

/** The same for a function of tensors. */
export type LooseTensorFunc<F, T, Decoupled extends boolean> = F &
  (F extends (inputs: T, context: InferenceContext) => infer R ? LooseResult<R, Decoupled> : never);

// Unknown for yes, never for no: what is left of F.
type Loose<F, I extends TensorSpecs, O extends TensorSpecs, Decoupled extends boolean> =
  F extends RequestsFunc<Inputs<I>, infer R>
    ? LooseResults<R, Decoupled>
    : F extends RequestsFunc<NamedInputs<I>, infer R>
      ? R extends Results<I, O, Decoupled>
        ? unknown
        : LooseResults<R, Decoupled>
      : F extends { readonly infer: infer Method }
        ? Loose<Method, I, O, Decoupled> | Misspelt<Exclude<GivenNames<Method>, keyof O>, keyof O & string>
        : F extends { readonly object: infer Self; readonly method: infer Name }
          ? Loose<Self[Name & keyof Self], I, O, Decoupled>
          : never;

type RequestsFunc<T, R> = (requests: RequestWith<T>[], context: ContextWith<T>) => R;

type LooseResults<R, Decoupled extends boolean> = R extends readonly (infer Each)[]
  ? LooseRecord<Awaited<Each>>
  : R extends PromiseLike<infer Settled>
    ? LooseResults<Settled, Decoupled>
    : true extends Decoupled
      ? R extends Steps<infer Step>
        ? LooseResults<Step, false>
        : never
      : never;

type LooseResult<R, Decoupled extends boolean> =
  R extends PromiseLike<infer Settled>
    ? LooseResult<Settled, Decoupled>
    : true extends Decoupled
      ? R extends Steps<infer Step>
        ? LooseRecord<Step>
        : LooseRecord<R>
      : LooseRecord<R>;

type LooseRecord<Outputs> = Outputs extends readonly unknown[] ? never : string extends keyof Outputs ? unknown : never;

// Nothing where all names are declared. Otherwise what no object is, so that compilers name the outputs when they come to say why
// an object is none of a model's callables: of its method they speak too late.
type Misspelt<Names extends string, Declared extends string> = [Names] extends [never]
  ? never
  : UndeclaredOutput<Names, Declared>;

interface UndeclaredOutput<Names extends string, Declared extends string> {
  readonly infer: { readonly undeclared: Names; readonly declared: Declared };
}

/** The names in what a method gives; nothing where they are not known. */
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
  Steps<unknown> | Error | InferenceResponse | Pick<RequestWith<unknown>, 'inputs' | 'requestedOutputs'> | undefined;
