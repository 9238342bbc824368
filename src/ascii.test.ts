import { describe, expect, it } from 'vitest';

import { listElements, lowerCase, parseDigits, trimBlanks } from './ascii.js';

/** What `trim` removes and HTTP does not, and what is more than one character in the other case. */
const BEYOND = ['\xa0', '\v', '\f', '\n', '\r', '\u1680', '\u2003', '\u2028', '\u3000', '\ufeff'];

describe('text of a wire', () => {
  it('loses spaces and tabs around it, and nothing else', () => {
    expect(trimBlanks(' \t a b\t ')).toBe('a b');
    expect(trimBlanks(' \t ')).toBe('');
    for (const char of BEYOND) expect(trimBlanks(` ${char}a${char} `)).toBe(`${char}a${char}`);
  });

  it('has a lower case for the letters of ASCII alone', () => {
    expect(lowerCase('AZaz@[`{ Content-Type')).toBe('azaz@[`{ content-type');
    for (const text of ['chun\u212aed', '\u0130', '\xc0\xdf', '\u017f', '\ufb01']) expect(lowerCase(text)).toBe(text);
  });

  it('is cut at commas', () => {
    expect(listElements('a,\tb , ,\xa0c')).toEqual(['a', 'b', '', '\xa0c']);
    expect(listElements('')).toEqual(['']);
  });

  it('is a number when it is digits', () => {
    expect(['0', '007', '9007199254740991'].map(parseDigits)).toEqual([0, 7, 2 ** 53 - 1]);
    const others = [
      '',
      ' 1',
      '1 ',
      '+1',
      '-1',
      '1.0',
      '1e2',
      '0x1',
      '1_0',
      '1,1',
      '\xa01',
      '\uff11',
      '9007199254740993',
    ];
    for (const text of others) expect([text, parseDigits(text)]).toEqual([text, undefined]);
    expect(parseDigits(undefined)).toBeUndefined();
  });
});
