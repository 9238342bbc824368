// Iterables, sync and async alike, as generators make them.

import { TritonError } from '../errors.js';

export type Steps<T> = AsyncIterable<T> | Iterable<T>;

/** True for what a generator returns; not for lists and strings. */
export function isSteps(value: unknown): value is Steps<unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || ArrayBuffer.isView(value)) return false;
  return Symbol.asyncIterator in value || Symbol.iterator in value;
}

/** `map` applied to every step; stays synchronous when the steps are. */
export function mapSteps<T, U>(steps: Steps<T>, map: (step: T) => U): Steps<U> {
  return Symbol.asyncIterator in steps ? mapAsync(steps, map) : mapSync(steps, map);
}

async function* mapAsync<T, U>(steps: AsyncIterable<T>, map: (step: T) => U): AsyncGenerator<U> {
  for await (const step of steps) yield map(step);
}

function* mapSync<T, U>(steps: Iterable<T>, map: (step: T) => U): Generator<U> {
  for (const step of steps) yield map(step);
}

/** The steps that the callable of a decoupled model returned. Throws INTERNAL when it returned something else. */
export function expectSteps(result: unknown, { name }: { readonly name: string }): Steps<unknown> {
  if (isSteps(result)) return result;
  const got = Array.isArray(result)
    ? 'a list'
    : result === null || typeof result !== 'object'
      ? String(result)
      : 'an object';
  throw new TritonError(
    'INTERNAL',
    `model '${name}' is decoupled and must return an iterable, as a generator does, got ${got}`,
  );
}
