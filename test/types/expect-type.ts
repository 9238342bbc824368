// Compares types in test/types: `Expect<Equal<A, B>>` compiles only when A and B are the same type.

/** True only for identical types: `any`, optional and readonly members included. */
export type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

export type Expect<Condition extends true> = Condition;

// @ts-expect-error The comparison itself can fail.
export type DifferentTypes = Expect<Equal<Float32Array, Float64Array>>;
// @ts-expect-error `any` is not taken for every type.
export type AnyIsNotANumber = Expect<Equal<any, number>>;
// @ts-expect-error Optional is not the same as possibly undefined.
export type OptionalIsNotUndefined = Expect<Equal<{ a?: number }, { a: number | undefined }>>;
