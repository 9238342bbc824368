import { describe, expect, it } from 'vitest';

import { assert, ERROR_CODES, type ErrorCode, logTextOf, TritonError } from './errors.js';

describe('TritonError', () => {
  it('is an Error with a code, a name and its cause', () => {
    const cause = new Error('disk full');
    const error = new TritonError('UNAVAILABLE', 'cannot load', { cause });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name: 'TritonError', code: 'UNAVAILABLE', message: 'cannot load', cause });
  });

  it('has no cause when none was given', () => {
    expect(Object.hasOwn(new TritonError('INTERNAL', 'x'), 'cause')).toBe(false);
  });

  it.each([
    ['UNKNOWN', 400],
    ['INTERNAL', 500],
    ['NOT_FOUND', 404],
    ['INVALID_ARG', 400],
    ['UNAVAILABLE', 503],
    ['UNSUPPORTED', 501],
    ['ALREADY_EXISTS', 400],
    ['CANCELLED', 400],
    ['DEADLINE_EXCEEDED', 504],
    ['UNAUTHENTICATED', 401],
    ['PERMISSION_DENIED', 403],
    ['TOO_LARGE', 413],
  ] as const)('has the code %s with the HTTP status %i', (code, status) => {
    expect(new TritonError(code, 'x')).toMatchObject({ code, status });
  });

  it('has the codes of TRITONSERVER_Error_Code, and four that clients tell apart', () => {
    expect(ERROR_CODES).toHaveLength(8 + 4);
  });

  it('shows nothing of its brand to whoever lists or prints it', () => {
    const error = new TritonError('INTERNAL', 'x');
    expect(Object.keys(error).sort()).toEqual(['code', 'name', 'status']);
  });
});

describe('TritonError.is', () => {
  it('knows errors of another copy of the package by their brand', () => {
    const foreign = Object.assign(new Error('from elsewhere'), { code: 'NOT_FOUND' });
    Object.defineProperty(foreign, Symbol.for('tstriton.TritonError'), { value: true });
    expect(TritonError.is(foreign)).toBe(true);
    expect(TritonError.from(foreign)).toBe(foreign);
  });

  it.each([[new Error('x')], [{ code: 'INTERNAL', message: 'x' }], ['x'], [null], [undefined]])(
    'is false for %s',
    (value) => {
      expect(TritonError.is(value)).toBe(false);
    },
  );
});

describe('TritonError.from', () => {
  it('keeps a TritonError as it is, whatever code is asked for', () => {
    const error = new TritonError('NOT_FOUND', 'x');
    expect(TritonError.from(error, 'INTERNAL')).toBe(error);
  });

  it('keeps what was thrown as the cause', () => {
    const thrown = new TypeError('x is undefined');
    expect(TritonError.from(thrown)).toMatchObject({ code: 'INTERNAL', message: 'x is undefined', cause: thrown });
    expect(TritonError.from(thrown, 'UNAVAILABLE').code).toBe('UNAVAILABLE');
  });

  it('makes an error with an unknown code INTERNAL: it has no status', () => {
    const error = new TritonError('INVALID_ARGUMENT' as ErrorCode, 'x');
    expect(TritonError.from(error)).toMatchObject({ code: 'INTERNAL', status: 500, message: 'x', cause: error });
  });

  const circular: Record<string, unknown> = {};
  circular['self'] = circular;
  it.each([
    ['an Error without a message', new RangeError(''), 'RangeError'],
    ['a string', 'out of memory', 'out of memory'],
    ['an object with a message', { message: 'as in JSON' }, 'as in JSON'],
    ['an object without one', { reason: 7 }, '{"reason":7}'],
    ['null', null, 'null'],
    ['a number', 7, '7'],
    ['undefined', undefined, 'undefined was thrown'],
    ['a symbol', Symbol('x'), 'a symbol was thrown'],
    ['a bigint', 7n, 'a bigint was thrown'],
    ['a circular object', circular, 'an object was thrown'],
  ])('makes a message of %s', (_, thrown, message) => {
    expect(TritonError.from(thrown).message).toBe(message);
  });
});

describe('logTextOf', () => {
  it.each([
    ['a string', 'out of memory', 'out of memory'],
    ['undefined', undefined, 'undefined was thrown'],
    ['an object without a stack', { reason: 7 }, '{"reason":7}'],
  ])('shows no stack of our own for %s that was thrown', (_, thrown, message) => {
    expect(logTextOf(TritonError.from(thrown))).toBe(`${message} (what was thrown is no Error, so there is no stack)`);
  });

  it.each([undefined, { cause: 'a text' }])('shows the stack of a TritonError with the options %j', (options) => {
    expect(logTextOf(new TritonError('INTERNAL', 'x', options))).toMatch(/^TritonError: x\n +at /);
  });

  it('shows the stack of the Error that was thrown', () => {
    expect(logTextOf(TritonError.from(new RangeError('no such row')))).toMatch(/^RangeError: no such row\n +at /);
  });
});

describe('assert', () => {
  it('does nothing while the invariant holds', () => {
    expect(() => assert(1, 'one is true')).not.toThrow();
  });

  it('fails as INTERNAL and says that it is our bug', () => {
    expect(() => assert(0, 'queue is empty')).toThrow(
      expect.objectContaining({ code: 'INTERNAL', message: 'this is a bug in TSTriton: queue is empty' }),
    );
  });
});
