import { describe, expect, it } from 'vitest';

import type { Callable } from './callable.js';
import { callerOf, functionOf, isNamedMethod, methodNames } from './callable-function.js';

/** What it was called with, `this` first. */
function told(this: unknown, ...args: unknown[]): unknown {
  return [this, ...args];
}

function call(callable: unknown): unknown {
  return callerOf(callable as Callable)(['request'] as never, 'context' as never);
}

describe('callerOf', () => {
  it('calls a function with this undefined', () => {
    expect(call(told)).toEqual([undefined, ['request'], 'context']);
  });

  it('calls the method infer, or the one that is named, on its object', () => {
    const object = { infer: told, classify: told };
    expect((call(object) as unknown[])[0]).toBe(object);
    expect(call({ object, method: 'classify' })).toEqual([object, ['request'], 'context']);
    expect((call({ object, method: 'classify' }) as unknown[])[0]).toBe(object);
  });

  it('calls the method that is there at the time', () => {
    const object = { classify: told as () => unknown };
    const caller = callerOf({ object, method: 'classify' } as never);
    object.classify = () => 'another';
    expect(caller([], {} as never)).toBe('another');
  });
});

describe('functionOf', () => {
  it.each<[unknown, unknown]>([
    [told, told],
    [{ infer: told }, told],
    [{ infer: told, object: {}, method: 'run' }, told],
    [{ object: { run: told }, method: 'run' }, told],
    [{ object: { run: 7 }, method: 'run' }, undefined],
    [{ object: undefined, method: 'run' }, undefined],
    [{ object: 'text', method: 'slice' }, undefined],
    [{ run: told }, undefined],
    [null, undefined],
    ['infer', undefined],
  ])('of %o is %o', (callable, fn) => {
    expect(functionOf(callable)).toBe(fn);
  });
});

it('isNamedMethod knows what names a method, right or wrong', () => {
  expect([{ object: 1, method: 2 }, { object: 1 }, { infer: told, object: 1, method: 2 }, null, told].map(isNamedMethod)).toEqual([true, false, false, false, false]); // prettier-ignore
});

it('methodNames lists own and inherited methods, and calls no getter', () => {
  class Base {
    inherited() {}
  }
  class Model extends Base {
    readonly own = () => 0;
    readonly size = 1;
    get lazy(): never {
      throw new Error('not to be called');
    }
    method() {}
  }
  expect(methodNames(new Model())).toEqual(['own', 'method', 'inherited']);
  expect(methodNames(Object.create(null) as object)).toEqual([]);
  expect(methodNames({ run() {} })).toEqual(['run']);
});
