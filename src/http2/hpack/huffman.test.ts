import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CODE_LENGTHS, CODES } from './huffman-code.js';
import { huffmanDecode } from './huffman-decode.js';
import { huffmanEncode, huffmanLength } from './huffman-encode.js';

function encoded(text: string): Buffer {
  const bytes = Buffer.alloc(text.length * 4 + 1);
  return bytes.subarray(0, huffmanEncode(text, bytes, 0));
}

function decoded(bytes: Uint8Array): string | undefined {
  const target = Buffer.alloc(bytes.length * 2);
  const length = huffmanDecode(bytes, { start: 0, end: bytes.length }, target);
  return length < 0 ? undefined : target.toString('latin1', 0, length);
}

// RFC 7541, appendix C.4 and C.6.
const EXAMPLES: readonly (readonly [string, string])[] = [
  ['www.example.com', 'f1e3c2e5f23a6ba0ab90f4ff'],
  ['no-cache', 'a8eb10649cbf'],
  ['custom-key', '25a849e95ba97d7f'],
  ['custom-value', '25a849e95bb8e8b4bf'],
  ['302', '6402'],
  ['private', 'aec3771a4b'],
  ['Mon, 21 Oct 2013 20:13:21 GMT', 'd07abe941054d444a8200595040b8166e082a62d1bff'],
  ['https://www.example.com', '9d29ad171863c78f0b97c8e9ae82ae43d3'],
];

describe('the Huffman code of HPACK', () => {
  it.each(EXAMPLES)('codes %j as RFC 7541 does', (text, hex) => {
    expect(encoded(text).toString('hex')).toBe(hex);
    expect(huffmanLength(text)).toBe(hex.length / 2);
    expect(decoded(Buffer.from(hex, 'hex'))).toBe(text);
  });

  // Some of appendix B, one for each kind of length.
  it.each([
    [0x30, 0x0, 5],
    [0x25, 0x15, 6],
    [0x42, 0x5d, 7],
    [0x3b, 0xfb, 8],
    [0x21, 0x3f8, 10],
    [0x7c, 0x7fc, 11],
    [0x5c, 0x7fff0, 19],
    [0x00, 0x1ff8, 13],
    [0x0a, 0x3ffffffc, 30],
    [0xf9, 0xffffffe, 28],
    [0x100, 0x3fffffff, 30],
  ])('gives symbol %i the code %i of %i bits', (symbol, code, length) => {
    expect([CODES[symbol], CODE_LENGTHS[symbol]]).toEqual([code, length]);
  });

  it('has a code for every way to go on', () => {
    const share = CODE_LENGTHS.reduce((sum, length) => sum + 2 ** -length, 0);
    expect(share).toBe(1);
  });

  it('gives every string of bytes back', () => {
    const everyByte = String.fromCharCode(...Array.from({ length: 256 }, (_, i) => i));
    expect(decoded(encoded(everyByte))).toBe(everyByte);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        const text = Buffer.from(bytes).toString('latin1');
        const coded = encoded(text);
        expect(coded.length).toBe(huffmanLength(text));
        expect(decoded(coded)).toBe(text);
      }),
      { seed: 7541 },
    );
  });

  it.each([
    ['padding of eight bits', '1fff'],
    ['padding of zeros', '00'],
    ['padding that is not all ones', '1e'],
    ['EOS', 'ffffffff'],
    ['EOS after a symbol', '1ffffffffc'],
    ['EOS among symbols', '1ffffffffc07'],
    ['EOS before a symbol', 'fffffffc07'],
    ['a symbol that is cut off', 'ff'],
  ])('refuses %s', (_, hex) => {
    expect(decoded(Buffer.from(hex, 'hex'))).toBeUndefined();
  });

  it('takes an empty string', () => {
    expect(decoded(Buffer.alloc(0))).toBe('');
    expect(encoded('')).toHaveLength(0);
  });
});
