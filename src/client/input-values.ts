// What users may pass for the inputs of a model and what they get back, in types: by name, or as a list in
// declaration order; by the model's spec, or of any kind when only its name is known.

import type { Outputs, InputValues, TensorLike, TensorSpec, TensorSpecs, DtypeIn } from '../model/tensor-spec.js';
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
    ? {
        readonly [K in keyof I]: I[K] extends { readonly optional: true }
          ? TensorLike<DtypeIn<I[K]>> | undefined
          : TensorLike<DtypeIn<I[K]>>;
      }
    : readonly (TensorLike<Dtype> | undefined)[];

export type ClientInputs<I extends TensorSpecs> = NamedInputs<I> | PositionalInputs<I>;

/** The tensors of a response, by output name. */
export type ClientOutputs<O extends TensorSpecs> = TensorSpecs extends O
  ? Readonly<Record<string, Tensor>>
  : Outputs<O>;

export type OutputName<O extends TensorSpecs> = keyof ClientOutputs<O> & string;
