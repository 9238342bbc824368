import { describe, expect, it } from 'vitest';

import { markDecorated, marksOf } from './decorated.js';

const raw = () => [];

describe('markDecorated', () => {
  it('leaves a mark that nobody sees by accident', () => {
    const callable = markDecorated(() => [], 'batch', raw);
    expect(marksOf(callable)[0]?.decorator).toBe('batch');
    expect(Object.keys(callable)).toEqual([]);
    expect(marksOf(raw)[0]?.decorator).toBeUndefined();
    expect(marksOf({ infer: raw })[0]?.decorator).toBeUndefined();
    expect(marksOf(undefined)[0]?.decorator).toBeUndefined();
  });

  it('gives the callable back', () => {
    const callable = () => [];
    expect(markDecorated(callable, 'stream', raw)).toBe(callable);
  });

  it('tells whether it stands on a method', () => {
    const decorated = { kind: 'method' } as ClassMethodDecoratorContext;
    expect(marksOf(markDecorated(() => [], 'batch', raw, { decorated }))[0]!.isMethod).toBe(true);
    expect(marksOf(markDecorated(() => [], 'batch', raw))[0]!.isMethod).toBe(false);
  });

  it.each<[unknown, unknown, string]>([
    [undefined, undefined, 'batch takes a function, got undefined'],
    [['x'], undefined, "batch takes a function, got a list; as a decorator of methods it needs TypeScript's experimentalDecorators to be off"],
    [Object.create({ constructor: class Model {} }), 'infer', "batch takes a function, got a Model; as a decorator of methods it needs TypeScript's experimentalDecorators to be off"],
    [raw, { kind: 'getter' }, 'batch decorates methods, got a getter'],
    [class Model {}, { kind: 'class' }, 'batch decorates methods, got a class'],
    [raw, { strict: true }, 'batch decorates methods, got a second argument that is no decorator context'],
  ])('refuses to decorate %o with %o', (inner, decorated, message) => {
    expect(() => markDecorated(() => [], 'batch', inner, { decorated: decorated as never })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARG', message }),
    );
  }); // prettier-ignore
});

describe('marksOf', () => {
  it('lists the decorators from the outermost to the one around the user’s function', () => {
    const check = () => undefined;
    const inner = markDecorated(() => [], 'groupByValues', raw, { check });
    const outer = markDecorated(() => [], 'batch', inner);
    expect(marksOf(outer)).toEqual([
      { decorator: 'batch', inner, isMethod: false, check: undefined },
      { decorator: 'groupByValues', inner: raw, isMethod: false, check },
    ]);
    expect(marksOf(raw)).toEqual([]);
  });

  it('ends at a decorator of somebody else', () => {
    const theirs = () => markDecorated(() => [], 'batch', raw);
    expect(marksOf(markDecorated(() => [], 'groupByKeys', theirs))).toHaveLength(1);
  });
});
