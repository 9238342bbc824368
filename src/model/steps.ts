// Handles the results of decoupled models' callables. Steps are iterables, sync or async, as generators make them.
// Decorators make other forms of them. `stream` makes one stream of results per request, with its own end and its own
// failure. `groupByKeys` makes groups of requests; no group waits for another or fails with it.

import { TritonError } from '../errors.js';
import { isInputList } from './input-list.js';

export type Steps<T> = AsyncIterable<T> | Iterable<T>;

/** True for the result of a generator function; not for lists and strings. */
export function isSteps(value: unknown): value is Steps<unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || ArrayBuffer.isView(value)) return false;
  if (isInputList(value)) return false;
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

/** The steps of a decoupled model's callable; a returned value is the only step. */
export function asSteps(result: unknown): Steps<unknown> {
  return isSteps(result) ? result : [result];
}

/**
 * Joins several series of steps: each step holds the next step of every series. Throws the error of `uneven` when some
 * series end before others. All series are closed in any case. Stays synchronous when they are.
 */
export function zipSteps<T>(series: readonly Steps<T>[], uneven: () => Error): Steps<readonly T[]> {
  const isSync = series.every((steps) => Symbol.iterator in steps);
  return isSync ? zipSync(series as readonly Iterable<T>[], uneven) : zipAsync(series, uneven);
}

function* zipSync<T>(series: readonly Iterable<T>[], uneven: () => Error): Generator<readonly T[]> {
  const iterators = series.map((steps) => steps[Symbol.iterator]());
  const open = new Set(iterators);
  try {
    for (;;) {
      const step: T[] = [];
      for (const iterator of iterators) {
        open.delete(iterator); // an iterator that throws has ended
        const next = iterator.next();
        if (next.done === true) continue;
        open.add(iterator);
        step.push(next.value);
      }
      if (open.size === 0) return;
      if (open.size < iterators.length) throw uneven();
      yield step;
    }
  } finally {
    for (const iterator of open) iterator.return?.();
  }
}

async function* zipAsync<T>(series: readonly Steps<T>[], uneven: () => Error): AsyncGenerator<readonly T[]> {
  const iterators = series.map((steps) =>
    Symbol.asyncIterator in steps ? steps[Symbol.asyncIterator]() : steps[Symbol.iterator](),
  );
  const open = new Set(iterators);
  try {
    for (;;) {
      const step: T[] = [];
      const failures: unknown[] = [];
      const advanced = await Promise.allSettled(iterators.map(async (iterator) => iterator.next()));
      advanced.forEach((outcome, index) => {
        if (outcome.status === 'fulfilled' && outcome.value.done !== true) step.push(outcome.value.value);
        else open.delete(iterators[index]!);
        if (outcome.status === 'rejected') failures.push(outcome.reason);
      });
      if (failures.length > 0) throw TritonError.from(failures[0]);
      if (open.size === 0) return;
      if (open.size < iterators.length) throw uneven();
      yield step;
    }
  } finally {
    await Promise.allSettled([...open].map(async (iterator) => iterator.return?.()));
  }
}

const STREAMS = Symbol.for('tstriton.RequestStreams');
const GROUPS = Symbol.for('tstriton.RequestGroups');

/** Results of one request as they come: an iterable, a promise of one, or a function's failure to make one. */
export type RequestStream = () => unknown;

export class RequestStreams {
  readonly streams: readonly RequestStream[];

  constructor(streams: readonly RequestStream[]) {
    this.streams = streams;
  }

  static is(value: unknown): value is RequestStreams {
    return typeof value === 'object' && value !== null && STREAMS in value;
  }
}
Object.defineProperty(RequestStreams.prototype, STREAMS, { value: true });

export interface RequestGroup {
  /** The places of the group's requests in the batch. */
  readonly members: readonly number[];
  /** Calls the callable for the group. Returns steps, streams or groups of its members, or a promise of them. */
  readonly start: () => unknown;
}

export class RequestGroups {
  readonly groups: readonly RequestGroup[];

  constructor(groups: readonly RequestGroup[]) {
    this.groups = groups;
  }

  static is(value: unknown): value is RequestGroups {
    return typeof value === 'object' && value !== null && GROUPS in value;
  }
}
Object.defineProperty(RequestGroups.prototype, GROUPS, { value: true });
