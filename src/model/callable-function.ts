// Finds the function of a callable and calls it. A user's function never gets a `this` of ours: a method without its
// object throws, instead of computing with a wrong object.

import type { Callable, InferenceContext, InferenceRequest } from './callable.js';

/** A callable, whatever its model. */
export type AnyInferFunc = (this: unknown, requests: readonly InferenceRequest[], context: InferenceContext) => unknown;

/** A callable by the name of its method; not checked. */
export interface NamedMethod {
  readonly object: unknown;
  readonly method: unknown;
}

/** The function itself, with the marks of decorators; undefined for other values. */
export function functionOf(callable: unknown): AnyInferFunc | undefined {
  const fn = typeof callable === 'function' ? callable : methodOf(callable);
  return typeof fn === 'function' ? (fn as AnyInferFunc) : undefined;
}

/**
 * A function that calls the callable: a function with `this` undefined, a method on its object, looked up at each call.
 */
export function callerOf(callable: Callable): AnyInferFunc {
  if (typeof callable === 'function') {
    const fn = callable as AnyInferFunc;
    return (requests, context) => fn.call(undefined, requests, context);
  }
  const object = isNamedMethod(callable) ? callable.object : callable;
  return (requests, context) => functionOf(callable)!.call(object, requests, context);
}

/** Whether a value names a method of an object: `{ object, method }`. */
export function isNamedMethod(value: unknown): value is NamedMethod {
  if (typeof value !== 'object' || value === null || typeof (value as { infer?: unknown }).infer === 'function') {
    return false;
  }
  return 'object' in value && 'method' in value;
}

function methodOf(callable: unknown): unknown {
  if (typeof callable !== 'object' || callable === null) return undefined;
  if (!isNamedMethod(callable)) return (callable as { readonly infer?: unknown }).infer;
  const { object, method } = callable;
  if (typeof object !== 'object' && typeof object !== 'function') return undefined;
  return (object as Readonly<Record<PropertyKey, unknown>> | null)?.[method as PropertyKey];
}

/** The names of an object's methods, inherited ones included. */
export function methodNames(object: object): string[] {
  const names = new Set<string>();
  for (let at: object | null = object; at !== null && Object.getPrototypeOf(at) !== null; at = protoOf(at)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if (typeof value === 'function' && name !== 'constructor') names.add(name);
    }
  }
  return [...names];
}

function protoOf(object: object): object | null {
  return Object.getPrototypeOf(object) as object | null;
}
