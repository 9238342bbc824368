import { describe, expect, it } from 'vitest';

import { ChunkReader } from './chunk-reader.js';

interface Outcome {
  readonly body: string;
  readonly status: number | undefined;
  /** How much of the text belongs to the body; undefined when it is not at its end. */
  readonly end: number | undefined;
}

/** Reads the text in pieces that end at `cuts`. */
function read(text: string, cuts: readonly number[] = []): Outcome {
  const bytes = Buffer.from(text, 'latin1');
  const reader = new ChunkReader();
  let body = '';
  let at = 0;
  for (const cut of [...cuts, bytes.length]) {
    while (at < cut && reader.fault === undefined && !reader.isAtEnd) {
      at = reader.read(bytes, at, cut);
      body += bytes.toString('latin1', reader.dataStart, reader.dataEnd);
    }
  }
  return { body, status: reader.fault?.status, end: reader.isAtEnd ? at : undefined };
}

const GOOD: readonly (readonly [text: string, body: string])[] = [
  ['5\r\nhello\r\n0\r\n\r\n', 'hello'],
  ['1\r\na\r\n00a\r\n0123456789\r\n000\r\n\r\n', 'a0123456789'],
  ['1;a=b;c="d;\te"\r\nx\r\n0;z\r\n\r\n', 'x'],
  ['1;a="b\\"c";d\r\nx\r\n0\r\n\r\n', 'x'],
  ['1\r\nx\r\n0\r\nX-Sum: 1\r\nHost:\r\n\r\n', 'x'],
  ['A\r\n0\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n', '0\r\n\r\n0\r\n\r\n'],
  ['0\r\n\r\n', ''],
  [`${'0'.repeat(31)}1\r\nx\r\n0\r\n\r\n`, 'x'],
  ['0\r\nTransfer-Encodings: a\r\nContent-Length-X: \t\xe9\r\n\r\n', ''],
  [`1;${'a'.repeat(16_384)}\r\nx\r\n0\r\n\r\n`, 'x'],
  // The line ends count too.
  [`0\r\nX:${'a'.repeat(16_384 - 6)}\r\n\r\n`, ''],
];
const BAD: readonly (readonly [text: string, status: number])[] = [
  ['\r\n', 400],
  ['zz\r\n', 400],
  ['-1\r\n', 400],
  ['0x5\r\n', 400],
  [' 5\r\n', 400],
  ['5 \r\n', 400],
  ['5\n', 400],
  ['5\rx', 400],
  ['5;a\nb\r\n', 400],
  ['5;a="\0"\r\n', 400],
  ['5;a="\n"\r\n', 400],
  ['5;\r\n', 400],
  ['5;=b\r\n', 400],
  ['5;a=\r\n', 400],
  ['5;a b\r\n', 400],
  ['5; a\r\n', 400],
  ['5;a="b\r\n', 400],
  ['5;a="b"c\r\n', 400],
  ['5;a="b\\"\r\n', 400],
  ['5;a\0\r\n', 400],
  ['fffffffffffffffff\r\n', 400],
  ['20000000000000\r\n', 400],
  [`${'0'.repeat(33)}\r\n`, 400],
  [';a\r\n', 400],
  ['1\r\nab', 400],
  ['1\r\na\n', 400],
  ['1\r\na\rb', 400],
  ['0\r\nContent-Length: 5\r\n\r\n', 400],
  ['0\r\nTRANSFER-encoding: chunked\r\n\r\n', 400],
  ['0\r\n: a\r\n\r\n', 400],
  ['0\r\nX : a\r\n\r\n', 400],
  ['0\r\n X: a\r\n\r\n', 400],
  ['0\r\nX\r\n\r\n', 400],
  ['0\r\nX: a\nY: b\r\n\r\n', 400],
  ['0\r\n\n', 400],
  ['0\r\n\rx', 400],
  ['0\r\nX: a\rx', 400],
  ['0\r\nX: a\0\r\n\r\n', 400],
  [`1;${'a'.repeat(16_385)}\r\n`, 413],
  [`0\r\nX:${'a'.repeat(16_384 - 5)}\r\n\r\n`, 431],
  ['1;aaaa\r\nx\r\n'.repeat(5000), 413],
  [`0\r\nX: ${'a'.repeat(17_000)}\r\n\r\n`, 431],
];

describe('a chunked body', () => {
  it.each(GOOD)('is read up to its end: %j', (text, body) => {
    expect(read(`${text}GET`)).toEqual({ body, status: undefined, end: text.length });
  });

  it.each(BAD.map(([text, status]) => [text.slice(0, 40), text, status] as const))(
    'is refused: %j',
    (_, text, status) => {
      expect(read(text)).toMatchObject({ status, end: undefined });
    },
  );

  it('may have a chunk of 2^53 - 1 bytes', () => {
    const reader = new ChunkReader();
    const bytes = Buffer.from('1fffffffffffff\r\nx');
    expect(reader.read(bytes, 0, bytes.length)).toBe(bytes.length);
    expect([reader.fault, reader.dataEnd - reader.dataStart]).toEqual([undefined, 1]);
  });

  it.each([
    ['x', 'invalid chunk size'],
    ['5x', 'invalid chunk size'],
    ['20000000000000', 'chunk size overflows'],
    ['5;a\n', 'invalid chunk extension'],
    ['5;a=\r', 'invalid chunk extension'],
    ['5\rx', 'a carriage return without a line feed'],
    ['1\r\nab', 'no line end after a chunk'],
    ['1\r\na\rb', 'no line end after a chunk'],
    ['0\r\n\rx', 'a carriage return without a line feed'],
    ['0\r\nX : a', 'invalid trailer'],
    ['0\r\nX: \0', 'invalid trailer'],
    ['0\r\nContent-Length:', 'content-length among the trailers'],
  ])('is refused with what is wrong: %j', (text, detail) => {
    const reader = new ChunkReader();
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length && reader.fault === undefined;) at = reader.read(bytes, at, bytes.length);
    expect(reader.fault).toEqual({ status: 400, message: `malformed HTTP request: ${detail}`, detail });
  });

  it('is the same in any pieces', () => {
    for (const [text] of [...GOOD, ...BAD]) {
      const whole = read(text);
      const every = Array.from({ length: text.length }, (_, i) => i);
      expect(read(text, every)).toEqual(whole);
      if (text.length > 1000) continue;
      for (const cut of every.slice(0, 60)) expect(read(text, [cut])).toEqual(whole);
    }
  });

  it('is read anew after a reset', () => {
    const reader = new ChunkReader();
    const bytes = Buffer.from('1\r\nx');
    reader.read(bytes, 0, 4);
    reader.reset();
    reader.read(bytes, 0, 4);
    expect([reader.fault, reader.dataStart, reader.dataEnd]).toEqual([undefined, 3, 4]);
  });
});
