// Marks decorated callables, so that `bind` can refuse decorators in the wrong order, with unknown names, or with an
// unfit configuration.

import { invalidArg } from '../errors.js';
import { describeValue } from '../checks/check.js';
import type { CompleteModelConfig } from './complete-model-config.js';

const DECORATOR = Symbol.for('tstriton.decorator');

/** The first argument of a function: the list of requests, tensors by name, or tensors and single values by name. */
export type Level = 'requests' | 'tensors' | 'values';

/** The level of each decorator's result, and of the function under it. */
export const DECORATORS = {
  groupByKeys: { outside: 'requests', inside: 'requests' },
  fillOptionals: { outside: 'requests', inside: 'requests' },
  batch: { outside: 'requests', inside: 'tensors' },
  sample: { outside: 'requests', inside: 'tensors' },
  stream: { outside: 'requests', inside: 'tensors' },
  groupByValues: { outside: 'tensors', inside: 'tensors' },
  padBatch: { outside: 'tensors', inside: 'tensors' },
  firstValue: { outside: 'tensors', inside: 'values' },
} as const satisfies Record<string, { readonly outside: Level; readonly inside: Level }>;

export type DecoratorName = keyof typeof DECORATORS;

export interface Mark {
  readonly decorator: DecoratorName;
  /** The function that was decorated. */
  readonly inner: unknown;
  /** Whether the decorator decorates a method, as in `@batch infer(inputs) {…}`. */
  readonly isMethod: boolean;
  /** Throws INVALID_ARG when the decorator's arguments do not fit the model. */
  readonly check: ((config: CompleteModelConfig) => void) | undefined;
}

export interface MarkOptions {
  readonly check?: (config: CompleteModelConfig) => void;
  /** JavaScript's second argument to a decorator of a method. */
  readonly decorated?: ClassMethodDecoratorContext | undefined;
}

/**
 * Marks `callable` as made from `inner` by a decorator; returns it. Throws INVALID_ARG when `inner` is not a function.
 */
export function markDecorated<F extends object>(
  callable: F,
  decorator: DecoratorName,
  inner: unknown,
  { check, decorated }: MarkOptions = {},
): F {
  checkDecorated(decorator, inner, decorated);
  const mark: Mark = { decorator, inner, isMethod: decorated !== undefined, check };
  Object.defineProperty(callable, DECORATOR, { value: mark });
  return callable;
}

function checkDecorated(decorator: DecoratorName, inner: unknown, decorated: ClassMethodDecoratorContext | undefined) {
  if (typeof inner !== 'function') {
    // Decorators of the old kind get the class's prototype.
    const isLegacy = typeof inner === 'object' && inner !== null;
    const hint = isLegacy ? "; as a decorator of methods it needs TypeScript's experimentalDecorators to be off" : '';
    throw invalidArg(`${decorator} takes a function, got ${describeValue(inner)}${hint}`);
  }
  const kind: unknown = decorated === undefined ? 'method' : decorated.kind;
  if (kind === 'method') return;
  throw invalidArg(`${decorator} decorates methods, got ${describeKind(kind)}`);
}

function describeKind(kind: unknown): string {
  return typeof kind === 'string' ? `a ${kind}` : 'a second argument that is no decorator context';
}

/** The marks of a callable, the outermost decorator's first, as far as the callable is made by ours. */
export function marksOf(callable: unknown): readonly Mark[] {
  const marks: Mark[] = [];
  for (let mark = markOf(callable); mark !== undefined; mark = markOf(mark.inner)) marks.push(mark);
  return marks;
}

function markOf(callable: unknown): Mark | undefined {
  return (callable as { readonly [DECORATOR]?: Mark } | undefined)?.[DECORATOR];
}
