// Declares the forms in which users declare inputs and outputs, and the types that follow from a declaration. A
// declaration is a record keyed by name, or a list. Unnamed entries of a list are called INPUT_1, INPUT_2, … and
// OUTPUT_1, … by position, as in PyTriton.

import type { DataLike, Dtype, DtypeLike, ToDtype } from '../tensor/dtype.js';
import type { ForeignTensor } from '../tensor/foreign-tensor.js';
import type { Tensor } from '../tensor/tensor.js';

/**
 * The type of values that only run time can check. A callable that names no model fits any model to the compiler, and
 * `bind` and each call check it.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- no other type fits every model
export type Unchecked = any;

/** T in a place that inference must ignore. (Types computed from a NoInfer<T> are not tuples.) */
export type Settled<T> = [T][T extends unknown ? 0 : never];

/** One input or output of a model, as the user declares it. */
export interface TensorSpec {
  /** Only in list declarations; default `INPUT_<i>` or `OUTPUT_<i>`, counted from 1. */
  readonly name?: string;
  /** numpy's name (`'float32'`), a typed-array constructor (`Float32Array`) or Triton's name (`'FP32'`). */
  readonly dtype: DtypeLike;
  /** Dimensions without the batch axis (when the model batches); -1 stands for any size. */
  readonly shape: readonly number[];
  /** Inputs only: a request may leave it out. Default false. */
  readonly optional?: boolean;
  /** Outputs only: names of the values by their index, for the classification extension. */
  readonly labels?: readonly string[];
  /** Of `bytes` and `string` tensors: in plain JSON each element is base64 of its bytes. Default: it is text. */
  readonly contentEncoding?: 'base64';
  /** What the tensor holds, for people who read `/openapi.json`. */
  readonly description?: string;
  /** Outputs only: each row begins with a box, which the page draws on the image of the request. See docs/page.md. */
  readonly boxes?: BoxForm;
}

/** The four numbers of a box: two corners, a corner and a size, or a centre and a size. */
export type BoxForm = 'xyxy' | 'xywh' | 'cxcywh';

/** A declaration of all inputs or outputs, in positional order. */
export type TensorSpecs = Readonly<Record<string, Omit<TensorSpec, 'name'>>> | readonly TensorSpec[];

// Position (from '0', as keyof a tuple spells it) to the number in a default name.
type Counted = { [K in keyof Ordinals & `${number}`]: Ordinals[K] };
type Ordinals = [
  1,
  2,
  3,
  4,
  5,
  6,
  7,
  8,
  9,
  10,
  11,
  12,
  13,
  14,
  15,
  16,
  17,
  18,
  19,
  20,
  21,
  22,
  23,
  24,
  25,
  26,
  27,
  28,
  29,
  30,
  31,
  32,
];
/** The name of a list declaration's entry: its own, or the default of its position. */
export type NameAt<Spec, Position, Prefix extends string> = Spec extends { readonly name: infer Name extends string }
  ? Name
  : Position extends keyof Counted
    ? `${Prefix}_${Counted[Position] & number}`
    : string;

/** Declarations keyed by name, from either form; keyed by any name where they are known only at run time. */
export type NamedSpecs<S extends TensorSpecs, Prefix extends string> = S extends readonly TensorSpec[]
  ? number extends S['length']
    ? Readonly<Record<string, S[number]>>
    : { [K in Extract<keyof S, `${number}`> as NameAt<S[K], K, Prefix>]: S[K] }
  : S;

type Simplify<T> = { [K in keyof T]: T[K] } & {};
/** The dtype that a declaration names. */
export type DtypeIn<Spec> = Spec extends { readonly dtype: infer D } ? ToDtype<D> : never;
type OptionalNames<N> = { [K in keyof N]: N[K] extends { readonly optional: true } ? K : never }[keyof N];
/** A record of tensors, by the names and dtypes of its declaration. */
type TensorsOf<N> = Simplify<
  { readonly [K in Exclude<keyof N, OptionalNames<N>>]: Tensor<DtypeIn<N[K]>> } & {
    readonly [K in OptionalNames<N>]?: Tensor<DtypeIn<N[K]>>;
  }
>;

/** A value of a dtype in plain (nested) arrays. */
export type PlainArray<D extends Dtype> = readonly PlainElement<D>[] | readonly PlainArray<D>[];
/** One value of a dtype, as plain arrays hold it. */
export type PlainElement<D extends Dtype> = D extends 'string'
  ? string
  : D extends 'bytes'
    ? Uint8Array | string
    : D extends 'int64' | 'uint64'
      ? bigint | number
      : number | boolean;

/** One element of a dtype as a plain value. */
export type SingleValue<D extends Dtype> = D extends 'string'
  ? string
  : D extends 'bytes'
    ? Uint8Array
    : D extends 'bool'
      ? boolean
      : D extends 'int64' | 'uint64'
        ? bigint
        : number;

/**
 * The values that count as a tensor of a dtype: a Tensor, its bare data, plain nested arrays, or another library's
 * tensor. The last one's dtype is checked at run time.
 */
export type TensorLike<D extends Dtype> = Tensor<D> | DataLike<D> | PlainArray<D> | ForeignTensor;

/** Tensors of a model that is unknown at compile time. */
export type AnyInputs = Readonly<Record<string, Tensor<Unchecked>>>;

/** The same for a function that names no model: by name, or destructured by position. */
export interface UntypedInputs {
  readonly [name: string]: Tensor<Unchecked>;
  [Symbol.iterator](): IterableIterator<Tensor<Unchecked>>;
}

/** The tensors of a model's request; without a type argument, of any model's. */
export type InputsOrAny<I extends TensorSpecs> = TensorSpecs extends I ? UntypedInputs : Inputs<I>;

/** The argument of a function whose inputs have type `T`; anything, where it gives no type. */
export type TakenInputs<T> = T extends UntypedInputs ? Unchecked : T;

/** The tensors of a request: by input name, and for a list declaration by position too. */
export type Inputs<I extends TensorSpecs> = TensorSpecs extends I
  ? AnyInputs
  : I extends readonly TensorSpec[]
    ? ListAndNames<I, InputTuple<I>, NamedInputs<I>>
    : NamedInputs<I>;

/** The tensors of a request by input name alone, whichever form they were declared in. */
export type NamedInputs<I extends TensorSpecs> = TensorsOf<NamedSpecs<I, 'INPUT'>>;

/** The tensors of a list declaration, in order; undefined for an optional one that was not sent. */
export type InputTuple<I extends readonly TensorSpec[]> = {
  -readonly [K in keyof I]: Tensor<DtypeIn<I[K]>> | OrAbsent<I[K]>;
};

/** Undefined for an input that may be absent. */
export type OrAbsent<Spec> = Spec extends { readonly optional: true } ? undefined : never;

/** Values by position and by name. Members of every array cannot be names: see `input-list.ts`. */
export type ListAndNames<I extends readonly TensorSpec[], Tuple, Named> = [
  Extract<keyof Named, keyof [] | `${number}`>,
] extends [never]
  ? Tuple & Named & PastTheEnd<I>
  : Named;

// To the compiler every position of a list with more members has a tensor.
type PastTheEnd<I extends readonly TensorSpec[]> = number extends I['length']
  ? unknown
  : { readonly [Position in I['length']]?: undefined };

/** The names of a model's inputs; any string where they are known only at run time. */
export type InputName<I extends TensorSpecs> = keyof NamedInputs<I> & string;

/** The tensors of a response, by output name, as clients get them. */
export type Outputs<O extends TensorSpecs> = TensorsOf<NamedSpecs<O, 'OUTPUT'>>;

/** The same for a `strict` model; in other models each output may be missing. */
export type OutputsOf<O extends TensorSpecs, Strict extends boolean> = [Strict] extends [true]
  ? Outputs<O>
  : { readonly [Name in keyof Outputs<O>]: Outputs<O>[Name] | undefined };

/** An output as a callable gives it. In a list, an `Error` in a row's place fails that row. */
export type OutputLike<D extends Dtype> =
  TensorLike<D> | readonly (PlainElement<D> | Error)[] | readonly (PlainArray<D> | Error)[];

type ValuesOf<N> = { readonly [K in keyof N]: OutputLike<DtypeIn<N[K]>> | undefined };

/** A callable's outputs for one request or one batch, by name; undefined for one that it leaves out. */
export type OutputRecord<O extends TensorSpecs> = Simplify<ValuesOf<NamedSpecs<O, 'OUTPUT'>>>;

/** The same as a list in declaration order: typed by position for list declarations. */
export type OutputList<O extends TensorSpecs> = O extends readonly TensorSpec[]
  ? { readonly [K in keyof O]: OutputLike<DtypeIn<O[K]>> | undefined }
  : readonly (OutputLike<Dtype> | undefined)[];

/** A client's values for the inputs; optional ones may be left out. */
export type InputValues<I extends TensorSpecs> = Simplify<
  {
    readonly [K in Exclude<keyof NamedSpecs<I, 'INPUT'>, OptionalNames<NamedSpecs<I, 'INPUT'>>>]: TensorLike<
      DtypeIn<NamedSpecs<I, 'INPUT'>[K]>
    >;
  } & {
    readonly [K in OptionalNames<NamedSpecs<I, 'INPUT'>>]?: TensorLike<DtypeIn<NamedSpecs<I, 'INPUT'>[K]>>;
  }
>;
