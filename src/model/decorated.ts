// A mark on decorated callables that lets `bind` refuse what cannot work with the model's configuration.

const DECORATOR = Symbol.for('tstriton.decorator');

export type DecoratorName = 'batch' | 'sample';

/** Marks `callable` as made by a decorator; returns it. */
export function markDecorated<F extends object>(callable: F, decorator: DecoratorName): F {
  Object.defineProperty(callable, DECORATOR, { value: decorator });
  return callable;
}

/** The decorator that made the callable, if one did. */
export function decoratorOf(callable: unknown): DecoratorName | undefined {
  return (callable as { readonly [DECORATOR]?: DecoratorName })[DECORATOR];
}
