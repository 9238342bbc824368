import type { TritonError } from '../errors.js';

/** A promise that others settle. */
export interface Deferred {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: TritonError) => void;
}

export function deferred(): Deferred {
  let resolve!: () => void;
  let reject!: (error: TritonError) => void;
  const promise = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}
