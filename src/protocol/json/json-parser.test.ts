import { describe, expect, it } from 'vitest';

import { jsonElements, parseJson } from './json-parser.js';
import { MAX_JSON_DEPTH } from './json-scanner.js';
import { JsonArray, JsonDouble, JsonObject, type JsonValue } from './json-value.js';

/** The value in plain terms: doubles as `{ double }`, objects as lists of pairs. */
function plain(value: JsonValue): unknown {
  if (value instanceof JsonDouble) return { double: value.value };
  if (value instanceof JsonArray) return jsonElements(value).map(plain);
  if (value instanceof JsonObject) return { members: value.keys.map((key, i) => [key, plain(value.values[i]!)]) };
  return value;
}

const parse = (text: string) => plain(parseJson(Buffer.from(text)));
const parseBytes = (...bytes: number[]) => plain(parseJson(Buffer.from(bytes)));

describe('values', () => {
  it.each<[string, unknown]>([
    ['null', null],
    ['true', true],
    ['false', false],
    ['0', 0],
    ['-0', 0],
    ['-17', -17],
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', 9007199254740992n],
    ['9223372036854775807', 9223372036854775807n],
    ['18446744073709551615', 18446744073709551615n],
    ['-9223372036854775808', -9223372036854775808n],
    ['18446744073709551616', { double: 2 ** 64 }],
    ['-9223372036854775809', { double: -(2 ** 63) }],
    ['1.0', { double: 1 }],
    ['-0.0', { double: -0 }],
    ['1e2', { double: 100 }],
    ['1E+2', { double: 100 }],
    ['1e-400', { double: 0 }],
    ['0.1', { double: 0.1 }],
    ['12345678.12345678', { double: 12345678.12345678 }],
    ['NaN', { double: NaN }],
    ['-NaN', { double: NaN }],
    ['Infinity', { double: Infinity }],
    ['-Infinity', { double: -Infinity }],
    ['Inf', { double: Infinity }],
    ['-Inf', { double: -Infinity }],
    ['""', ''],
    ['"héllo 世界 😀"', 'héllo 世界 😀'],
    [String.raw`"\"\\\/\b\f\n\r\t"`, '"\\/\b\f\n\r\t'],
    [String.raw`"\u0041\u00e9\u4e16\ud83d\ude00\u0000"`, 'Aé世😀\u0000'],
    ['"é\\n"', 'é\n'],
    ['{}', { members: [] }],
    ['[]', []],
    [' \r\n\t[ 1 , 2 ] \n', [1, 2]],
    ['[1,[2,[]],{"a":[]}]', [1, [2, []], { members: [['a', []]] }]],
    ['[{"a":1},2,[3]]', [{ members: [['a', 1]] }, 2, [3]]],
    ['[ {} ]', [{ members: [] }]],
    ['{"a":{"b":[{"c":null}]}}', { members: [['a', { members: [['b', [{ members: [['c', null]] }]]] }]] }],
    [
      '{"__proto__":1,"constructor":2}',
      {
        members: [
          ['__proto__', 1],
          ['constructor', 2],
        ],
      },
    ],
  ])('reads %s', (text, value) => {
    expect(parse(text)).toEqual(value);
  });

  it('keeps every member and finds the first of equal keys', () => {
    const object = parseJson(Buffer.from('{"a":1,"b":2,"a":3}')) as JsonObject;
    expect(object.keys).toEqual(['a', 'b', 'a']);
    expect(object.get('a')).toBe(1);
    expect(object.has('b')).toBe(true);
    expect(object.has('c')).toBe(false);
    expect(object.get('toString')).toBeUndefined();
  });

  it('skips a byte order mark', () => {
    expect(parseBytes(0xef, 0xbb, 0xbf, 0x31)).toBe(1);
  });

  it('takes a NUL after the value for the end', () => {
    expect(parse('1\u0000')).toBe(1);
    expect(parse('[1] \u0000\u0000xyz')).toEqual([1]);
  });

  it('reads a part of the bytes, and no further', () => {
    expect(plain(parseJson(Buffer.from('xx12345'), 2, 5))).toBe(123);
    expect(plain(parseJson(Buffer.from('1.2599'), 0, 4))).toEqual({ double: 1.25 });
    expect(plain(parseJson(Buffer.from('1e10'), 0, 3))).toEqual({ double: 10 });
  });

  it('tells short strings apart that fall into one place of its store', () => {
    for (let i = 0; i < 2000; i++) expect(parse(`"a${i}z"`)).toBe(`a${i}z`);
    for (let i = 0; i < 2000; i++) expect(parse(`"a${i}z"`)).toBe(`a${i}z`);
  });
});

describe('errors', () => {
  it.each<[string, string]>([
    ['', 'The document is empty. at 0'],
    [' ', 'The document is empty. at 1'],
    ['\u0000', 'The document is empty. at 0'],
    ['{', 'Missing a name for object member. at 1'],
    ['{1:2}', 'Missing a name for object member. at 1'],
    ['{"a":1,}', 'Missing a name for object member. at 7'],
    ['{"a" 1}', 'Missing a colon after a name of object member. at 5'],
    ['{"a":1 "b":2}', "Missing a comma or '}' after an object member. at 7"],
    ['{"a":1', "Missing a comma or '}' after an object member. at 6"],
    ['[1 2]', "Missing a comma or ']' after an array element. at 3"],
    ['[1', "Missing a comma or ']' after an array element. at 2"],
    ['[{} {}]', "Missing a comma or ']' after an array element. at 4"],
    ['[1,{"a":1 "b"}]', "Missing a comma or '}' after an object member. at 10"],
    ['[1,{"a"}]', 'Missing a colon after a name of object member. at 7'],
    ['[1,{2}]', 'Missing a name for object member. at 4'],
    ['[1,]', 'Invalid value. at 3'],
    ['[,1]', 'Invalid value. at 1'],
    ['[', 'Invalid value. at 1'],
    ['}', 'Invalid value. at 0'],
    ['hello', 'Invalid value. at 0'],
    ['nul', 'Invalid value. at 3'],
    ['nan', 'Invalid value. at 1'],
    ['tru', 'Invalid value. at 3'],
    ['fals', 'Invalid value. at 4'],
    ['Na', 'Invalid value. at 2'],
    ['Infinitz', 'Invalid value. at 7'],
    ['-x', 'Invalid value. at 1'],
    ['-', 'Invalid value. at 1'],
    ['+1', 'Invalid value. at 0'],
    ['.5', 'Invalid value. at 0'],
    ['1.', 'Miss fraction part in number. at 2'],
    ['1.x', 'Miss fraction part in number. at 2'],
    ['1e', 'Miss exponent in number. at 2'],
    ['1e+', 'Miss exponent in number. at 3'],
    ['[1e400]', 'Number too big to be stored in double. at 1'],
    ['[-1e400]', 'Number too big to be stored in double. at 1'],
    ['1.7976931348623159e308', 'Number too big to be stored in double. at 0'],
    ['9'.repeat(400), 'Number too big to be stored in double. at 0'],
    [`${'9'.repeat(400)}.5`, 'Number too big to be stored in double. at 0'],
    ['[01]', "Missing a comma or ']' after an array element. at 2"],
    ['1 2', 'The document root must not be followed by other values. at 2'],
    ['{}{}', 'The document root must not be followed by other values. at 2'],
    ['"abc', 'Missing a closing quotation mark in string. at 4'],
    ['"a\u0000b"', 'Missing a closing quotation mark in string. at 2'],
    ['"a\nb"', 'Invalid escape character in string. at 2'],
    [String.raw`"a\x"`, 'Invalid escape character in string. at 2'],
    ['"a\\', 'Invalid escape character in string. at 2'],
    [String.raw`"\u12g4"`, String.raw`Incorrect hex digit after \u escape in string. at 1`],
    [String.raw`"\u12`, String.raw`Incorrect hex digit after \u escape in string. at 1`],
    [String.raw`"\ud83d"`, 'The surrogate pair in string is invalid. at 1'],
    [String.raw`"\ud83dx"`, 'The surrogate pair in string is invalid. at 1'],
    [String.raw`"\ud83d\u0041"`, 'The surrogate pair in string is invalid. at 1'],
    [String.raw`"\ude00"`, 'The surrogate pair in string is invalid. at 1'],
    [String.raw`"\ud83d\u12"`, String.raw`Incorrect hex digit after \u escape in string. at 1`],
  ])('refuses %j', (text, reason) => {
    expect(() => parse(text)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARG', message: `failed to parse the request JSON buffer: ${reason}` }),
    );
  });

  it.each<[string, number[], number]>([
    ['a stray continuation byte', [0x61, 0x80], 2],
    ['an overlong form', [0xc0, 0x80], 1],
    ['a surrogate', [0xed, 0xa0, 0x80], 1],
    ['a cut sequence', [0xe4, 0xb8], 1],
    ['Latin-1', [0xe9, 0x62], 1],
    ['a bad byte behind good characters', [...Buffer.from('é世😀'.repeat(3000)), 0xff], 1 + 9 * 3000],
  ])('refuses %s in a string and says where', (_, content, offset) => {
    const text = Buffer.from([0x22, ...content, 0x22]);
    expect(() => parseJson(text)).toThrow(
      `failed to parse the request JSON buffer: Invalid encoding in string. at ${offset}`,
    );
  });

  it('counts offsets from where the text begins', () => {
    expect(() => parseJson(Buffer.from('....[1,]'), 4)).toThrow('Invalid value. at 3');
  });
});

describe('nesting', () => {
  const nested = (depth: number, open: string, inner: string, close: string) =>
    open.repeat(depth) + inner + close.repeat(depth);

  it.each([
    ['[', '1', ']'],
    ['[', '', ']'],
    ['{"a":', '1', '}'],
    ['[{"a":', '1', '}]'],
    ['[1,', '2', ']'],
  ])('of 1000 levels of %s is read', (open, inner, close) => {
    expect(parseJson(Buffer.from(nested(1000, open, inner, close)))).toBeDefined();
  });

  it.each([
    ['[', '1', ']'],
    ['[', '', ']'],
    ['{"a":', '1', '}'],
    ['[{"a":', '1', '}]'],
  ])('beyond the limit of %s is refused', (open, inner, close) => {
    const text = Buffer.from(nested(MAX_JSON_DEPTH + 1, open, inner, close));
    expect(() => parseJson(text)).toThrow(`JSON nesting depth exceeds maximum allowed limit (${MAX_JSON_DEPTH})`);
  });

  it('is not followed into memory when there is no end to it', () => {
    expect(() => parseJson(Buffer.from('['.repeat(5_000_000)))).toThrow('JSON nesting depth');
    expect(() => parseJson(Buffer.from('{"a":'.repeat(1_000_000)))).toThrow('JSON nesting depth');
  });
});
