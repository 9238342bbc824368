import { describe, expect, it } from 'vitest';

import { HeaderForwarding } from './header-forwarding.js';

const HEADERS = ['Host', 'localhost', 'X-Fwd-User', 'ann', 'x-fwd-user', 'bob', 'Other', 'no', 'x-fwd-user', 'eve'];

function forwarded(pattern: string, headers: readonly string[] = HEADERS): object | undefined {
  return new HeaderForwarding(pattern, 'httpHeaderForwardPattern').forward(headers, undefined);
}

describe('forwarding of headers', () => {
  it('takes those whose name matches somewhere, whatever the case, under their names as they came', () => {
    expect(forwarded('fwd')).toEqual({ 'X-Fwd-User': 'ann', 'x-fwd-user': 'bob, eve' });
    expect(forwarded('^x-fwd-.*$')).toEqual({ 'X-Fwd-User': 'ann', 'x-fwd-user': 'bob, eve' });
    expect(forwarded('^other$')).toEqual({ Other: 'no' });
    expect(Object.keys(forwarded('.*')!)).toEqual(['Host', 'X-Fwd-User', 'x-fwd-user', 'Other']);
  });

  it('heeds case where the pattern says so', () => {
    expect(forwarded('(?-i)^X-')).toEqual({ 'X-Fwd-User': 'ann' });
    expect(forwarded('(?i)^X-FWD')).toEqual({ 'X-Fwd-User': 'ann', 'x-fwd-user': 'bob, eve' });
    expect(forwarded('(?-i)(?i)^OTHER')).toEqual({ Other: 'no' });
    expect(forwarded('(?sU-i)^O')).toEqual({ Other: 'no' });
  });

  it('leaves parameters alone where nothing matches', () => {
    const parameters = { a: 1 };
    expect(new HeaderForwarding('nothing', '').forward(HEADERS, parameters)).toBe(parameters);
    expect(forwarded('nothing')).toBeUndefined();
  });

  it('adds to the parameters of the request and takes precedence over them', () => {
    const forwarding = new HeaderForwarding('^(other|__proto__)$', '');
    const parameters = forwarding.forward([...HEADERS, '__proto__', 'p'], { a: 1, Other: 'mine' })!;
    expect(Object.entries(parameters)).toEqual([
      ['a', 1],
      ['Other', 'no'],
      ['__proto__', 'p'],
    ]);
  });

  it.each([
    'sequence_id',
    'sequence_start',
    'sequence_end',
    'priority',
    'timeout',
    'headers',
    'binary_data_output',
    'triton_x',
  ])('refuses %s', (name) => {
    expect(() => forwarded('.*', ['Host', 'h', name, '1'])).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARG',
        message: `Header '${name}' is reserved for Triton usage and cannot be forwarded.`,
      }),
    );
    expect(forwarded('^host$', ['Host', 'h', name, '1'])).toEqual({ Host: 'h' });
  });

  it.each([
    ['my\\-header', 'my-header'],
    ['a\\.b\\_c\\#\\\\?', 'a.b_c#'],
    ['[a\\-z]{2}', 'a-'],
    ['^(x|y)+\\d?$', 'xyx1'],
  ])('reads %s as RE2 does', (pattern, name) => {
    expect(forwarded(pattern, [name, 'v'])).toEqual({ [name]: 'v' });
  });

  it.each(['(', '[', '*', 'a{2,1}', '\\Qx\\E', '\\A', '(?P<n>a)', '[[:alpha:]]', '(?)x'])(
    'refuses the pattern %s at once',
    (pattern) => {
      expect(() => new HeaderForwarding(pattern, 'grpcHeaderForwardPattern')).toThrow(
        expect.objectContaining({
          code: 'INVALID_ARG',
          message: expect.stringContaining(
            `grpcHeaderForwardPattern must be a regular expression, got ${JSON.stringify(pattern)}: `,
          ) as string,
        }),
      );
    },
  );
});
