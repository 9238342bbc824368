import { describe, expect, it } from 'vitest';

import { jsonElements, JsonParser, parseJson } from './json-parser.js';
import { MAX_JSON_DEPTH } from './json-scanner.js';
import { ANY, listOf, membersOf, objectOf, VALUE, type JsonShape } from './json-shape.js';
import { spaceRuns } from './space-runs.js';
import { JsonArray, JsonDouble, JsonObject, JsonSkipped, JsonText, type JsonValue } from './json-value.js';

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
    ['a bad byte behind a few good ones', [...Buffer.from('aé世😀b'), 0xff], 1 + 11],
    ['a bad byte behind very many', [...Buffer.from('é世😀'.repeat(60_000)), 0xff], 1 + 9 * 60_000],
  ])('refuses %s in a string and says where', (_, content, offset) => {
    const text = Buffer.from([0x22, ...content, 0x22]);
    expect(() => parseJson(text)).toThrow(
      `failed to parse the request JSON buffer: Invalid encoding in string. at ${offset}`,
    );
  });

  it('takes characters of every length across the blocks in which they are looked at', () => {
    for (const shift of ['', 'a', 'ab', 'abc']) {
      const text = shift + '😀'.repeat(70_000);
      expect(parse(JSON.stringify(text))).toBe(text);
    }
  });

  it('counts offsets from where the text begins', () => {
    expect(() => parseJson(Buffer.from('....[1,]'), 4)).toThrow('Invalid value. at 3');
  });
});

describe('nesting', () => {
  const nested = (depth: number, open: string, inner: string, close: string) =>
    open.repeat(depth) + inner + close.repeat(depth);
  const deepest = MAX_JSON_DEPTH;

  it.each([
    ['[', '1', ']', deepest],
    ['[', '', ']', deepest],
    ['{"a":', '1', '}', deepest],
    ['[{"a":', '1', '}]', deepest / 2],
    ['[1,', '2', ']', deepest],
  ])('as deep as is allowed is read: %s', (open, inner, close, depth) => {
    expect(parseJson(Buffer.from(nested(depth, open, inner, close)))).toBeDefined();
  });

  it.each([
    ['[', '1', ']'],
    ['[', '', ']'],
    ['{"a":', '1', '}'],
    ['[{"a":', '1', '}]'],
    ['[1,{"a":', '1', '}]'],
  ])('beyond the limit is refused: %s', (open, inner, close) => {
    const text = Buffer.from(nested(deepest + 1, open, inner, close));
    expect(() => parseJson(text)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARG',
        message: 'JSON nesting depth exceeds maximum allowed limit (100)',
      }),
    );
  });

  it('counts from the array on where only its place is kept', () => {
    const shape = objectOf({ a: objectOf({ data: VALUE }) });
    const text = (depth: number) => Buffer.from(`{"a":{"data":${nested(depth, '[', '1', ']')},"b":[[[1]]]}}`);
    expect(parseJson(text(deepest), 0, undefined, shape)).toBeInstanceOf(JsonObject);
    expect(() => parseJson(text(deepest + 1), 0, undefined, shape)).toThrow('JSON nesting depth');
  });

  it('is not followed into memory when there is no end to it', () => {
    expect(() => parseJson(Buffer.from('['.repeat(5_000_000)))).toThrow('JSON nesting depth');
    expect(() => parseJson(Buffer.from('{"a":'.repeat(1_000_000)))).toThrow('JSON nesting depth');
  });
});

describe('the number of elements', () => {
  it.each([
    ['[]', 0],
    ['[ ]', 0],
    ['[1]', 1],
    ['[1,2 , 3.5]', 3],
    ['["a,b",[1,2,3],{"a":[1,2],"b":3},null]', 4],
    ['[[1,2],[3,4]]', 2],
    ['[[],[[]],"\\"",1,2]', 5],
    [`[${'7,'.repeat(999)}7]`, 1000],
  ])('of %s is known without reading them', (text, length) => {
    expect((parseJson(Buffer.from(text)) as JsonArray).length).toBe(length);
  });
});

describe('a shape', () => {
  const shaped = (text: string, shape: JsonShape) => parseJson(Buffer.from(text), 0, undefined, shape);

  it('keeps the members that it names, the first of each, and checks the others', () => {
    const shape = objectOf({ a: VALUE, b: objectOf({ c: VALUE }) });
    const value = shaped('{"x":{"a":1},"a":1,"b":{"c":2,"d":{"c":[{}]}},"a":2,"b":3,"y":[{"a":[{"b":1}]}]}', shape);
    expect(plain(value)).toEqual({
      members: [
        ['a', 1],
        ['b', { members: [['c', 2]] }],
      ],
    });
    expect(() => shaped('{"x":{"a":[{"b":nope}]}}', shape)).toThrow('Invalid value. at 17');
    expect(() => shaped('{"x":"\\ud800"}', shape)).toThrow('The surrogate pair in string is invalid.');
  });

  it.each([
    ['null', 'nul', 'true', 'tru', 'false', 'fals', 'NaN', 'Na', '-Inf', 'Infinity', 'nan'],
    ['0', '-0', '01', '00', '-01', '7', '-', '+1', '-x', '12345678901234567890', '1e5', '1e', '1e+', '1e400', '1E-5'],
    ['1.5', '1.', '1.x', '-1.', '0.25', '.5', '1..2', '1.5.5', '1.5e', '00.5', '-0.5', '9'.repeat(400), `1${'0'.repeat(290)}.5`],
    ['"a"', '"a', '"\\x"', '"\\u12g4"', '"\\ud83d"', '"\n"', '"é"', '""'],
    ['[]', '[', '[1,2', '[1 2]', '[1,]', '[,1]', '[[]]', '[[1],2]', '[1;2]', '{}', '{', '{"a":1}', '{"a" 1}', '{"a":1,}', '{1:2}'],
  ])('is as strict where nothing is kept: %j …', (...texts) => {
    const outcome = (parsing: () => unknown) => {
      try {
        parsing();
        return 'read';
      } catch (error) {
        return (error as Error).message;
      }
    };
    for (const text of texts) {
      for (const around of ['[$]', '[1,$,2]', '[1 , $ , 2]', '[$ ]', '{"a":$,"b":1}', '[[1,$],3]', '[{"a":[$]},-4]']) {
        const whole = `{"x":${around.replace('$', () => text)}}`;
        expect([whole, outcome(() => shaped(whole, objectOf({})))]).toEqual([whole, outcome(() => parse(whole))]);
      }
    }
  }); // prettier-ignore

  it('finds names whatever their spelling', () => {
    const shape = objectOf({ ab: VALUE });
    expect(plain(shaped('{"\\u0061b":1,"ab":2}', shape))).toEqual({ members: [['ab', 1]] });
    expect(plain(shaped(`{"${'ab'.repeat(10_000)}":1}`, shape))).toEqual({ members: [] });
  });

  it('keeps of a value what a single value needs', () => {
    const shape = objectOf({ s: VALUE, t: VALUE, o: VALUE, l: VALUE });
    const value = shaped(`{"s":"short","t":"${'é'.repeat(5000)}","o":{"a":1},"l":[{"a":1},2]}`, shape) as JsonObject;
    const [short, text, object, list] = value.values;
    expect(short).toBe('short');
    expect(text).toBeInstanceOf(JsonText);
    expect((text as JsonText).toString()).toBe('é'.repeat(5000));
    expect((text as JsonText).byteLength).toBe(10_000);
    expect(object).toBeInstanceOf(JsonSkipped);
    expect([(list as JsonArray).length, (list as JsonArray).elements]).toEqual([2, undefined]);
  });

  it('has what is there where it is something else', () => {
    expect(shaped('[1,2]', objectOf({}))).toBeInstanceOf(JsonArray);
    expect(shaped('{"a":1}', listOf(VALUE, 1, 'things'))).toBeInstanceOf(JsonSkipped);
    expect(shaped('7', objectOf({}))).toBe(7);
    expect(plain(shaped('[1,[2],{"a":3},"x"]', listOf(objectOf({ a: VALUE }), 9, 'things')))).toEqual([
      1,
      [2],
      { members: [['a', 3]] },
      'x',
    ]);
  });

  it('limits lists', () => {
    const shape = listOf(VALUE, 3, 'things');
    expect(plain(shaped('[1,2,3]', shape))).toEqual([1, 2, 3]);
    expect(plain(shaped(' [ ] ', shape))).toEqual([]);
    const refusal = { code: 'INVALID_ARG', message: 'expected a request with at most 3 things, got more' };
    expect(() => shaped('[1,2,3,4]', shape)).toThrow(expect.objectContaining(refusal));
  });

  it.each([3, 8, 9, 40])('keeps the first of each name among %d', (count) => {
    const names = Array.from({ length: count }, (_, i) => `n${i}`);
    const twice = names.flatMap((name, i) => [`"${name}":${i}`, ...names.slice(0, i + 1).map((one) => `"${one}":-1`)]);
    const shape = membersOf({ limit: count, what: 'members' });
    expect(plain(parseJson(Buffer.from(`{${twice.join()}}`), 0, undefined, shape))).toEqual({
      members: names.map((name, i) => [name, i]),
    });
  });

  it('limits members of any names, and tells where each lies', () => {
    const shape = membersOf({ limit: 2, what: 'members' }, { n: membersOf({ limit: 1, what: 'inner members' }) });
    const text = '{"a": -1.5 ,"n":{"x":1,"x":2},"a":3}';
    const value = shaped(text, shape) as JsonObject;
    expect(plain(value)).toEqual({
      members: [
        ['a', { double: -1.5 }],
        ['n', { members: [['x', 1]] }],
      ],
    });
    expect(value.places.map((place) => text.slice(place)[0])).toEqual(['-', ' ', '{', ',']);
    expect(() => shaped('{"a":1,"b":2,"c":3}', shape)).toThrow('at most 2 members');
    expect(() => shaped('{"n":{"x":1,"y":2}}', shape)).toThrow('at most 1 inner members');
    const all = membersOf({ limit: 2, what: 'members', repeated: 'all' });
    expect((shaped('{"a":1,"a":2}', all) as JsonObject).keys).toEqual(['a', 'a']);
    expect(() => shaped('{"a":1,"a":2,"a":3}', all)).toThrow('at most 2 members');
    expect(() => shaped(`{"${'k'.repeat(70_000)}":1}`, all)).toThrow('at most 65536 bytes in a name of its members');
  });
});

describe('white space and numbers', () => {
  it('of any length that makes sense are read', () => {
    expect(parse(`${' '.repeat(100_000)}[1,${'\n'.repeat(100_000)}2]`)).toEqual([1, 2]);
    expect(parse(`0.${'0'.repeat(900)}1`)).toEqual({ double: 0 });
  });

  const space = (length: number) => ' \n\t\r'.repeat(Math.ceil(length / 4)).slice(0, length);

  it.each([65_535, 65_536, 65_537, 131_071, 200_001, 3_000_000])('between all tokens is read: %i bytes', (length) => {
    const gap = space(length);
    const text = ['', '{', '"a"', ':', '[', '-1', ',', '"  "', ']', ',', '"b"', ':', 'null', '}', ''].join(gap);
    const bytes = Buffer.from(text);
    for (const step of [Infinity, 65_536, 10_000]) {
      const parser = new JsonParser(bytes, {}, ANY);
      if (step < Infinity) parser.runs = spaceRuns(bytes, bytes.length);
      while (!parser.advance(step));
      const object = parser.value as JsonObject;
      expect(object.keys).toEqual(['a', 'b']);
      expect(jsonElements(object.get('a') as JsonArray)).toEqual([-1, '  ']);
      expect(object.get('b')).toBe(null);
    }
    expect(() => parse(`[1${gap}x]`)).toThrow(`Missing a comma or ']' after an array element. at ${2 + length}`);
    expect(() => parse(gap)).toThrow(`The document is empty. at ${length}`);
    expect(parse(`["${' '.repeat(length)}"${gap},1]`)).toEqual([' '.repeat(length), 1]);
  });

  it('is passed in steps, however much there is and wherever it lies', () => {
    const gap = space(400_000);
    const bytes = Buffer.from(`${gap}[${gap}1${gap},${gap}{${gap}"a"${gap}:${gap}2${gap}}${gap}]${gap}`);
    const parser = new JsonParser(bytes, {}, ANY);
    parser.runs = spaceRuns(bytes, bytes.length);
    let steps = 1;
    while (!parser.advance(10_000)) steps++;
    // Each byte of white space is looked at once ahead of the walk.
    expect(steps).toBeGreaterThan(bytes.length / 20_000);
    expect(steps).toBeLessThan(bytes.length / 5_000);
  });

  it('without end are refused', () => {
    expect(() => parse(`[0.${'1'.repeat(5000)}]`)).toThrow('Number too big to be stored in double. at 1');
    expect(() => parse(`[1,${'1'.repeat(5000)},2]`)).toThrow('Number too big to be stored in double. at 3');
  });
});

describe('a parser that pauses', () => {
  const SHAPES: readonly (readonly [string, JsonShape])[] = [
    ['everything', ANY],
    ['some', objectOf({ a: VALUE, inputs: listOf(objectOf({ name: VALUE, data: VALUE }), 100, 'inputs') })],
    ['a value', VALUE],
  ];
  const TEXTS = [
    '{"a":1,"inputs":[{"name":"x","data":[1,2.5,-3e4,[1,[2]],true,null,"é\\n😀\\ud83d\\ude00"]},{"name":"y"}],"b":{"c":[{"d":"e"}]}}',
    ' [ 1 , "two" , { "three" : [ ] } , [ { } ] , NaN , -Infinity , 18446744073709551615 ] ',
    '"a long string with \\u00e9scapes and é"',
    '[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,-21.25,22]',
    '{"a":[1,2}',
    '{"a":"\\ud83d"}',
    '[1,"x\\q"]',
    '["é',
    '{"a":1,"b":[{"c":nul}]}',
    '[[[[1]]]',
  ];
  const outcome = (run: () => unknown) => {
    try {
      return run();
    } catch (error) {
      return (error as Error).message;
    }
  };

  it.each(SHAPES.flatMap(([name, shape]) => TEXTS.map((text) => [name, text, shape] as const)))(
    'gives the same wherever it pauses (%s of %s)',
    (_name, text, shape) => {
      const bytes = Buffer.from(text);
      const expected = outcome(() => plain(parseJson(bytes, 0, undefined, shape)));
      for (const step of [1, 2, 3, 7]) {
        const paused = outcome(() => {
          const parser = new JsonParser(bytes, {}, shape);
          while (!parser.advance(step));
          return plain(parser.value);
        });
        expect(paused).toEqual(expected);
      }
    },
  );

  it.each([
    ['numbers', `[${'12.5,'.repeat(20_000)}1]`],
    ['strings', `[${'"ab",'.repeat(20_000)}1]`],
    ['one string', `"${'x'.repeat(100_000)}"`],
    ['one string of escapes', `"${'\\n'.repeat(50_000)}"`],
    ['objects', `[${'{"a":[{}]},'.repeat(10_000)}1]`],
    ['members', `{${'"abc":1,'.repeat(12_000)}"d":1}`],
    ['nothing but brackets', `[${'[],'.repeat(30_000)}1]`],
  ])('does no more in a step than it is told to, and so much work as there are bytes: %s', (_, text) => {
    for (const [, shape] of SHAPES) {
      const parser = new JsonParser(Buffer.from(text), {}, shape);
      let steps = 1;
      while (!parser.advance(1000)) steps++;
      expect(steps).toBeGreaterThan(text.length / 1000 / 1.2);
      expect(steps).toBeLessThanOrEqual(text.length / 1000 + 1);
    }
  });
});
