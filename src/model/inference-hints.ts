// What types are told, where they give up and where they should not guess.

/**
 * What only run time can check: a callable that was written without saying for which model is taken for any, and `bind`
 * and each call find out.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- TypeScript's word for it: nothing else fits every model
export type Unchecked = any;

/** T, where it is not to be inferred from: something else says it. (Types computed from a NoInfer<T> are no tuples.) */
export type Settled<T> = [T][T extends unknown ? 0 : never];
