import { describe, expect, it } from 'vitest';

import { readJson, writeJson } from './exact-json.js';

describe('JSON with exact integers', () => {
  it.each(['9007199254740993', '-9223372036854775808', '18446744073709551615', '[[1,2],[3,4]]', '{"a":[true,null,"x"]}', '1.5', '[]', '{}'])(
    'comes out as it went in: %s',
    (text) => {
      expect(writeJson(readJson(Buffer.from(text), 'it'))).toBe(text);
    },
  ); // prettier-ignore

  it('keeps a member that is called __proto__', () => {
    expect(writeJson(readJson(Buffer.from('{"__proto__":1}'), 'it'))).toBe('{"__proto__":1}');
  });

  it('is valid for every number, and refused by name where it is none', () => {
    expect(JSON.parse(writeJson([NaN, Infinity, -Infinity, 1n]))).toEqual(['NaN', 'Infinity', '-Infinity', 1]);
    expect(() => readJson(Buffer.from('[1'), 'a.json')).toThrow(/^a\.json is no JSON: /);
  });
});
