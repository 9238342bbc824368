// A mark on decorated callables that lets `bind` refuse what cannot work with the model's configuration.

const DECORATOR = Symbol.for('tstriton.decorator');

export type DecoratorName = 'batch' | 'sample' | 'stream';

interface Mark {
  readonly decorator: DecoratorName;
  /** The function that was decorated. */
  readonly inner: unknown;
}

/** Marks `callable` as made from `inner` by a decorator; returns it. */
export function markDecorated<F extends object>(callable: F, decorator: DecoratorName, inner: unknown): F {
  Object.defineProperty(callable, DECORATOR, { value: { decorator, inner } satisfies Mark });
  return callable;
}

/** The decorator that made the callable, if one did. */
export function decoratorOf(callable: unknown): DecoratorName | undefined {
  return markOf(callable)?.decorator;
}

/** The function that the user wrote, under all decorators. */
export function innermost(callable: unknown): unknown {
  let inner = callable;
  for (let mark = markOf(inner); mark !== undefined; mark = markOf(inner)) inner = mark.inner;
  return inner;
}

function markOf(callable: unknown): Mark | undefined {
  return (callable as { readonly [DECORATOR]?: Mark } | undefined)?.[DECORATOR];
}
