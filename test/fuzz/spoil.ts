// Mutations of bytes: some of them are changed, lost, doubled, or come from another input.
import type { Random } from '../support/random-life/random.js';

const BYTES = [
  0, 1, 2, 4, 8, 0x0a, 0x0d, 0x20, 0x22, 0x2c, 0x30, 0x39, 0x3a, 0x5b, 0x5c, 0x7b, 0x7d, 0x7f, 0x80, 0xc0, 0xff,
];
const WORDS = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff];
const TEXTS = [
  '""',
  '[]',
  '{}',
  'null',
  '-1',
  '1e999',
  '9223372036854775808',
  'NaN',
  '\\u0000',
  '\\ud800',
  '\r\n\r\n',
  '__proto__',
];

/** One to four mutations. `other` makes another input. */
export function spoil(random: Random, input: Buffer, other: () => Buffer): Buffer {
  let bytes = input;
  for (let left = random.integer(1, 4); left > 0; left--) bytes = spoilOnce(random, bytes, other);
  return bytes;
}

function spoilOnce(random: Random, bytes: Buffer, other: () => Buffer): Buffer {
  const at = random.integer(0, bytes.length);
  switch (random.weighted({ change: 6, flip: 4, insert: 4, text: 2, lose: 4, cut: 2, word: 3, twice: 2, splice: 1 })) {
    case 'change':
      return replaced(bytes, at, Buffer.of(random.chance(0.5) ? random.of(BYTES) : random.integer(0, 255)));
    case 'flip':
      return replaced(bytes, at, Buffer.of((bytes[at] ?? 0) ^ (1 << random.integer(0, 7))));
    case 'insert':
      return inserted(bytes, at, Buffer.of(random.chance(0.5) ? random.of(BYTES) : random.integer(0, 255)));
    case 'text':
      return inserted(bytes, at, Buffer.from(random.of(TEXTS)));
    case 'lose':
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + random.of([1, 1, 2, 4, 16]))]);
    case 'cut':
      return bytes.subarray(0, at);
    case 'word': {
      const word = Buffer.alloc(4);
      if (random.chance(0.5)) word.writeUInt32LE(random.of(WORDS));
      else word.writeUInt32BE(random.of(WORDS));
      return replaced(bytes, at, word);
    }
    case 'twice':
      return inserted(bytes, at, bytes.subarray(at, at + random.of([1, 4, 16, 64])));
    case 'splice': {
      const rest = other();
      return Buffer.concat([bytes.subarray(0, at), rest.subarray(random.integer(0, rest.length))]);
    }
  }
}

function replaced(bytes: Buffer, at: number, part: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, at), part, bytes.subarray(at + part.length)]);
}

function inserted(bytes: Buffer, at: number, part: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, at), part, bytes.subarray(at)]);
}
