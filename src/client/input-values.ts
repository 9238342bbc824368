// What users may pass for the inputs of a model and what they get back, in types: by name, or as a list in
// declaration order; by the model's spec, or of any kind when only its name is known.

import type {
  OutputsOf,
  InputValues,
  TensorLike,
  TensorSpec,
  TensorSpecs,
  DtypeIn,
  OrAbsent,
} from '../model/tensor-spec.js';
import type { Dtype } from '../tensor/dtype.js';
import type { ForeignTensor } from '../tensor/foreign-tensor.js';
import type { Nested } from '../tensor/nested.js';
import type { Tensor } from '../tensor/tensor.js';

/** What is taken for a tensor: a Tensor, a typed array, a value, nested arrays of values, or another library's tensor. */
export type AnyInputValue = Tensor | Nested | ForeignTensor;

/** Inputs by name; optional ones may be left out. */
export type NamedInputs<I extends TensorSpecs> = TensorSpecs extends I
  ? Readonly<Record<string, AnyInputValue | undefined>>
  : InputValues<I>;

/** Inputs in declaration order; optional ones may be undefined. */
export type PositionalInputs<I extends TensorSpecs> = TensorSpecs extends I
  ? readonly (AnyInputValue | undefined)[]
  : I extends readonly TensorSpec[]
    ? Readonly<ListedValues<I>>
    : readonly (TensorLike<Dtype> | undefined)[];

type ListedValues<I extends readonly TensorSpec[]> = {
  -readonly [K in keyof I]: TensorLike<DtypeIn<I[K]>> | OrAbsent<I[K]>;
};

export type ClientInputs<I extends TensorSpecs> = NamedInputs<I> | PositionalInputs<I>;

/** The inputs of a call one by one, in declaration order, and options after them. */
export type InputArguments<I extends TensorSpecs, Decoupled extends boolean, Options> = [Decoupled] extends [true]
  ? [never]
  : TensorSpecs extends I
    ? (AnyInputValue | Options | undefined)[]
    : I extends readonly TensorSpec[]
      ? number extends I['length']
        ? (TensorLike<Dtype> | Options | undefined)[]
        : ListedValues<I> extends infer Values extends unknown[]
          ? [...inputs: Values, options?: Options]
          : never
      : (TensorLike<Dtype> | Options | undefined)[];

/** What a call takes of a model that answers a request once; for a decoupled model, what is wrong with the call. */
export type AnswersOnce<Decoupled extends boolean, Given> = [Decoupled] extends [true]
  ? 'the model is decoupled: it answers a request any number of times, use streamSample or streamBatch'
  : Given;

/** The tensors of a response, by output name. Only `strict` models have all of them for certain. */
export type ClientOutputs<O extends TensorSpecs, Strict extends boolean = boolean> = TensorSpecs extends O
  ? Readonly<Record<string, Tensor>>
  : OutputsOf<O, Strict>;

export type OutputName<O extends TensorSpecs> = keyof ClientOutputs<O> & string;

/** The outputs that a call asked for; texts in place of those that are to be classified. */
export type AskedOutputs<
  O extends TensorSpecs,
  Strict extends boolean,
  Name extends OutputName<O>,
  Classified extends OutputName<O>,
> = [Classified] extends [never]
  ? Pick<ClientOutputs<O, Strict>, Name>
  : {
      readonly [N in Name]: N extends Classified
        ? Tensor<'string'> | Extract<ClientOutputs<O, Strict>[N], undefined>
        : ClientOutputs<O, Strict>[N];
    };
