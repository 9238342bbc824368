// What decorators work with inside: the types of a model hold for their users, and mean nothing to them.

import type { InferenceContext } from '../model/callable.js';
import type { Tensor } from '../tensor/tensor.js';

/** Tensors by name. */
export type Tensors = Readonly<Record<string, Tensor>>;

/** A function of tensors, whatever its model. */
export type AnyTensorFunc = (this: unknown, inputs: Tensors, context: InferenceContext) => unknown;

/** A method that a decorator stands on. To the compiler it keeps the type that it is written with. */
export type AnyMethod = (...args: never) => unknown;
