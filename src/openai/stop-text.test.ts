import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { StopText } from './stop-text.js';

/** What comes through, piece by piece, and the rest. */
function pass(
  pieces: readonly string[],
  stop: readonly string[],
): { readonly given: string[]; readonly found: boolean } {
  const text = new StopText(stop);
  const given: string[] = [];
  for (const piece of pieces) {
    given.push(text.push(piece));
    if (text.isFound) return { given, found: true };
  }
  return { given: [...given, text.end()], found: false };
}

/** The same, found the slow way. */
function cut(whole: string, stop: readonly string[]): string {
  for (let end = 1; end <= whole.length; end++) {
    const found = stop.filter((sequence) => whole.slice(0, end).endsWith(sequence));
    if (found.length > 0) return whole.slice(0, end - Math.max(...found.map(({ length }) => length)));
  }
  return whole;
}

describe('a text with stop sequences', () => {
  it.each([
    { pieces: ['one', ' two'], stop: [], given: ['one', ' two', ''], found: false },
    { pieces: ['one\n', 'two'], stop: ['\n'], given: ['one'], found: true },
    { pieces: ['a E', 'N', 'D b'], stop: ['END'], given: ['a ', '', ''], found: true },
    { pieces: ['a E', 'NT', ' b'], stop: ['END'], given: ['a ', 'ENT', ' b', ''], found: false },
    { pieces: ['a', 'a', 'a', 'b'], stop: ['aab'], given: ['', '', 'a', ''], found: true },
    { pieces: ['ab'], stop: ['b', 'ab'], given: [''], found: true },
    { pieces: ['the E'], stop: ['END'], given: ['the ', 'E'], found: false },
  ])('gives $given of $pieces before $stop', ({ pieces, stop, given, found }) => {
    expect(pass(pieces, stop)).toEqual({ given, found });
  });

  it('gives the same text however it is cut', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 12 });
    const sequences = fc.array(fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 5 }), {
      maxLength: 3,
    });
    fc.assert(
      fc.property(fc.array(letters, { maxLength: 6 }), sequences, (pieces, stop) => {
        expect(pass(pieces, stop).given.join('')).toBe(cut(pieces.join(''), stop));
      }),
    );
  });

  it('takes time in proportion to a text that nearly stops all the time', () => {
    const text = new StopText([`${'a'.repeat(100_000)}b`]);
    let given = 0;
    for (let i = 0; i < 200; i++) given += text.push('a'.repeat(1000)).length;
    expect(given).toBe(100_000);
  });
});
