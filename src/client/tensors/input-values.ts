// The types of the inputs that users pass and of the outputs that they get. Inputs come by name, or as a list in declaration order.
// The model's spec types them; if only the model's name is known, they may be of any kind.

import type {
  OutputsOf,
  InputValues,
  TensorLike,
  TensorSpec,
  TensorSpecs,
  DtypeIn,
  OrAbsent,
} from '../../model/tensor-spec.js';
import type { Dtype } from '../../tensor/dtype.js';
import type { ForeignTensor } from '../../tensor/foreign-tensor.js';
import type { Nested } from '../../tensor/nested.js';
import type { Tensor } from '../../tensor/tensor.js';

/** A value for an input: a Tensor, a typed array, a value, nested arrays of values, or another library's tensor. */
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
      : [first: TensorLike<Dtype> | undefined, ...others: (TensorLike<Dtype> | Options | undefined)[]];

/** The inputs of a call to a model that answers each request once. For a decoupled model, a text that explains the mistake. */
export type AnswersOnce<Decoupled extends boolean, Given> = [Decoupled] extends [true]
  ? 'the model is decoupled: it answers a request any number of times, use streamSample or streamBatch'
  : Given;

/** The tensors of a response, by output name. Only `strict` models have all of them for certain. */
export type ClientOutputs<O extends TensorSpecs, Strict extends boolean = boolean> = TensorSpecs extends O
  ? Readonly<Record<string, Tensor>>
  : OutputsOf<O, Strict>;

export type OutputName<O extends TensorSpecs> = keyof ClientOutputs<O> & string;

/** The outputs that a call asked for. Classified outputs are texts. */
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
