// What a walk over JSON text must tell whatever lies behind the text, wherever characters fall, and however long it is.
import { describe, expect, it } from 'vitest';

import { parseJson } from './json-parser.js';
import { ANY, objectOf, type JsonShape } from './json-shape.js';

/** All is kept, or nothing of a member is: two ways through a text. */
const SHAPES: readonly (readonly [string, JsonShape])[] = [
  ['kept', ANY],
  ['walked over', objectOf({})],
];

/** The error, or none. */
function refusal(bytes: Buffer, end = bytes.length, shape: JsonShape = ANY): string {
  try {
    parseJson(bytes, 0, end, shape);
    return '';
  } catch (error) {
    return (error as Error).message.replace('failed to parse the request JSON buffer: ', '');
  }
}

describe('a text that other bytes follow', () => {
  const TEXT = String.raw`{"é\u0041\ud83d\ude00":[-0.25,10,1e5,2E-3,NaN,-Infinity,true,false,null,"\"\\\n",[],{}, 7 ],"b":{"c":12}}`;
  const WHOLE = Buffer.from(TEXT);

  it.each(SHAPES)('is read as if it ended there, wherever that is (%s)', (_, shape) => {
    for (let end = 0; end <= WHOLE.length; end++) {
      const alone = refusal(Buffer.from(WHOLE.subarray(0, end)), end, shape);
      expect([end, / at \d+$/.test(alone)]).toEqual([end, end < WHOLE.length]);
      for (const rest of [TEXT.slice(end), '0', '00', '9.5', '.5', 'e5', '"', 'n', 'u0041', '0041', '\\ude00', ',', ']', '}', ':', ' ']) {
        const followed = Buffer.concat([WHOLE.subarray(0, end), Buffer.from(rest)]);
        expect([end, rest, refusal(followed, end, shape)]).toEqual([end, rest, alone]);
      }
    }
  }); // prettier-ignore

  it.each(SHAPES)('is refused where it is cut, with what is missing there (%s)', (_, shape) => {
    const cut = (text: string, rest: string) => refusal(Buffer.from(text + rest), Buffer.byteLength(text), shape);
    expect(cut('{"a":1', '2}')).toBe("Missing a comma or '}' after an object member. at 6");
    expect(cut('{"a":[1', '2]}')).toBe("Missing a comma or ']' after an array element. at 7");
    expect(cut('{"a":1.', '5}')).toBe('Miss fraction part in number. at 7');
    expect(cut('{"a":1e', '5}')).toBe('Miss exponent in number. at 7');
    expect(cut('{"a":1e-', '5}')).toBe('Miss exponent in number. at 8');
    expect(cut('{"a":-', '5}')).toBe('Invalid value. at 6');
    expect(cut('{"a":"\\', 'n"}')).toBe('Invalid escape character in string. at 6');
    expect(cut('{"a":"\\u004', '1"}')).toBe('Incorrect hex digit after \\u escape in string. at 6');
    expect(cut('{"a":"\\ud83d\\u', 'de00"}')).toBe('Incorrect hex digit after \\u escape in string. at 6');
    expect(cut('{"a":"\\ud83d', '\\ude00"}')).toBe('The surrogate pair in string is invalid. at 6');
    expect(cut('{"a":"x', '"}')).toBe('Missing a closing quotation mark in string. at 7');
  });
});

describe('numbers', () => {
  it.each(SHAPES)('are read to the last digit before a comma, and no number begins with a zero (%s)', (_, shape) => {
    const list = (...numbers: string[]) => refusal(Buffer.from(`{"a":[${numbers.join(',')}]}`), undefined, shape);
    for (const good of ['0', '9', '-0', '-9', '10', '90', '0.0', '0.9', '9.0', '9.9', '-1.50', '109.901']) {
      expect([good, list(good), list(good, '1'), list('1', good, '2')]).toEqual([good, '', '', '']);
    }
    for (const bad of ['00', '-00', '01', '00.5', '1.', '.1', '-', '--1', '1-', '1.-', '/', ':', '1/', '1:', '1./', '1.:']) {
      expect([bad, list(bad) === '', list(bad, '1') === '']).toEqual([bad, false, false]);
    }
    expect(list('1', '00', '2')).toBe("Missing a comma or ']' after an array element. at 9");
  }); // prettier-ignore

  it.each(SHAPES)('have as many digits as a double may need (%s)', (_, shape) => {
    const number = (text: string) => refusal(Buffer.from(`{"a":[1,${text},2]}`), undefined, shape);
    const TOO_BIG = 'Number too big to be stored in double. at 8';
    expect(number(`1${'0'.repeat(308)}`)).toBe('');
    expect(number(`17${'0'.repeat(307)}`)).toBe('');
    expect(number(`18${'0'.repeat(307)}`)).toBe(TOO_BIG);
    expect(number(`-1${'0'.repeat(309)}`)).toBe(TOO_BIG);
    expect(number(`0.${'0'.repeat(1021)}1`)).toBe('');
    expect(number(`0.${'0'.repeat(1022)}1`)).toBe(TOO_BIG);
    expect(number(`${'1'.repeat(308)}.5`)).toBe('');
    expect(number(`${'1'.repeat(310)}.5`)).toBe(TOO_BIG);
  });
});

describe('escapes of UTF-16', () => {
  const UNITS = ['0000', '0041', 'd7ff', 'd800', 'd801', 'DBFF', 'dc00', 'dc01', 'DFFF', 'e000', 'ffff'];
  const isHigh = (unit: string) => /^d[89ab]/i.test(unit);
  const isLow = (unit: string) => /^d[cdef]/i.test(unit);

  const isRight = (first: string, second: string) =>
    isHigh(first) ? isLow(second) : ![first, second].some((unit) => isHigh(unit) || isLow(unit));
  const PAIRS = UNITS.flatMap((first) => UNITS.map((second) => [first, second] as const));

  it.each(SHAPES)('come in pairs, and only where they have to (%s)', (_, shape) => {
    const isRead = (text: string) => refusal(Buffer.from(`{"a":"${text}x"}`), undefined, shape) === '';
    for (const unit of UNITS) expect([unit, isRead(`\\u${unit}`)]).toEqual([unit, !isHigh(unit) && !isLow(unit)]);
    for (const [first, second] of PAIRS) {
      expect([first, second, isRead(`\\u${first}\\u${second}`)]).toEqual([first, second, isRight(first, second)]);
    }
    for (const unit of UNITS.filter(isHigh)) {
      for (const other of ['\\tdc00', 'xudc00', 'xxdc00', '\\n']) {
        expect([unit, other, isRead(`\\u${unit}${other}`)]).toEqual([unit, other, false]);
      }
    }
  });

  it('are the characters that they say', () => {
    for (const [first, second] of PAIRS.filter((pair) => isRight(...pair))) {
      const text = `"\\u${first}\\u${second}x"`;
      expect(parseJson(Buffer.from(text))).toBe(JSON.parse(text));
    }
  });
});

describe('characters beyond ASCII', () => {
  const BLOCK = 256 * 1024;
  const CHARACTERS = ['é', '世', '😀'];
  const BAD = [[0xff], [0x80], [0xc3], [0xe4, 0xb8], [0xf0, 0x9f, 0x98], [0xed, 0xa0, 0x80]];

  it('are read wherever they fall in a long text', () => {
    for (const character of CHARACTERS) {
      for (let before = BLOCK - 6; before < BLOCK + 2; before++) {
        const text = `é${'a'.repeat(before)}${character}${'b'.repeat(10)}${character}`;
        expect(parseJson(Buffer.from(JSON.stringify(text)))).toBe(text);
      }
    }
  });

  it('are refused where they are ill-formed, behind a character of any length and at any place of a long text', () => {
    for (const bad of BAD) {
      for (const character of ['', 'a', ...CHARACTERS]) {
        for (const before of [0, 1, 14, 15, 16, 1023, 1024, 65_535, 65_536, BLOCK - 4, BLOCK - 3, BLOCK - 2, BLOCK - 1, BLOCK]) {
          const good = Buffer.from(`{"a":"é${'a'.repeat(before)}${character}`);
          const text = Buffer.concat([good, Buffer.from(bad), Buffer.from('b"}')]);
          expect([bad, before, refusal(text)]).toEqual([bad, before, `Invalid encoding in string. at ${good.length}`]);
        }
      }
    }
  }); // prettier-ignore
});
