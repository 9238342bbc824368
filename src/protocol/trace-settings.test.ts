import { describe, expect, it } from 'vitest';

import { parseTraceCount, parseTraceLevels, parseTraceUnsigned } from './trace-settings.js';

describe('a rate or frequency', () => {
  it.each([
    ['500', 500],
    ['0', 0],
    ['007', 7],
    ['4294967295', 4_294_967_295],
  ])('%j is %d', (text, value) => {
    expect(parseTraceUnsigned('trace_rate', text)).toBe(value);
  });

  it.each([
    ['abc', "Unable to parse 'trace_rate', got: abc"],
    ['', "Unable to parse 'trace_rate', got: "],
    ['12x', "Unable to parse 'trace_rate', got: 12x"],
    [' 12', "Unable to parse 'trace_rate', got:  12"],
    ['+12', "Unable to parse 'trace_rate', got: +12"],
    ['1.5', "Unable to parse 'trace_rate', got: 1.5"],
    ['-1', "Unable to parse 'trace_rate', value is out of range [ 0, 4294967295 ], got: -1"],
    ['4294967296', "Unable to parse 'trace_rate', value is out of range [ 0, 4294967295 ], got: 4294967296"],
    ['-3000000000', "Unable to parse 'trace_rate', value is out of range [ 0, 4294967295 ], got: -3000000000"],
  ])('%j is none', (text, message) => {
    expect(() => parseTraceUnsigned('trace_rate', text)).toThrow(message);
  });
});

describe('a count', () => {
  it.each([
    ['7', 7],
    ['-1', -1],
    ['2147483647', 2_147_483_647],
  ])('%j is %d', (text, value) => {
    expect(parseTraceCount(text, '')).toBe(value);
  });

  it.each([
    ['-2', "Unable to parse 'trace_count'. Expecting value >= -1, got: -2"],
    ['x', "Unable to parse 'trace_count', got: x"],
    ['7x', "Unable to parse 'trace_count', got: 7x"],
    ['2147483648', "Unable to parse 'trace_count', value is out of range [ -1, 2147483647 ], got: 2147483648"],
  ])('%j is none', (text, message) => {
    expect(() => parseTraceCount(text, ' ')).toThrow(message);
  });
});

describe('levels', () => {
  it.each([
    [['OFF'], ['OFF']],
    [[], ['OFF']],
    [['NOPE', 'MIN'], ['OFF']],
    [
      ['TENSORS', 'TIMESTAMPS'],
      ['TIMESTAMPS', 'TENSORS'],
    ],
  ])('%j are %j', (names, levels) => {
    expect(parseTraceLevels(names)).toEqual(levels);
  });

  it('are not OFF and others at once', () => {
    expect(() => parseTraceLevels(['OFF', 'TIMESTAMPS'])).toThrow("Expect only one trace level 'OFF' is specified");
  });
});
