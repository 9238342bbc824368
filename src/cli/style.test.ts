import { stripVTControlCharacters } from 'node:util';

import { describe, expect, it } from 'vitest';

import { inOneLine, styleFor, usesColours } from './style.js';

describe('colours', () => {
  it.each([
    [true, {}, true],
    [false, {}, false],
    [true, { NO_COLOR: '1' }, false],
    [true, { NO_COLOR: '' }, true],
    [true, { TERM: 'dumb' }, false],
    [false, { FORCE_COLOR: '1' }, true],
    [true, { FORCE_COLOR: '0' }, false],
    [true, { NO_COLOR: '1', FORCE_COLOR: '1' }, true],
  ])('for a terminal: %s, with %j: %s', (isTerminal, env, expected) => {
    expect(usesColours(isTerminal, env)).toBe(expected);
  });

  it('are around the text, which stays as it is', () => {
    const coloured = styleFor(true, {})('red', 'no');
    expect(coloured).not.toBe('no');
    expect(stripVTControlCharacters(coloured)).toBe('no');
    expect(styleFor(false, {})('red', 'no')).toBe('no');
  });
});

it('makes one line of a text, in which a terminal obeys nothing', () => {
  expect(inOneLine(' Traceback:\n  File "a"\r\n\x1b[2J\x9b0m\x07 \ttab ')).toBe(
    'Traceback: File "a" \\x1b[2J\\x9b0m\\x07 \ttab',
  );
});
