import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HeaderTemplate, type OutgoingHeaders } from '../outgoing-headers.js';
import { HpackDecoder } from './hpack-decoder.js';
import { HpackEncoder } from './hpack-encoder.js';

function encode(encoder: HpackEncoder, headers: OutgoingHeaders): Buffer {
  const longest = encoder.longest(headers);
  const target = Buffer.alloc(longest + 3, 0xaa);
  const end = encoder.encode(headers, target, 3);
  expect(end).toBeLessThanOrEqual(longest + 3);
  expect(target.subarray(0, 3).toString('hex')).toBe('aaaaaa');
  return target.subarray(3, end);
}

function newDecoder(): HpackDecoder {
  return new HpackDecoder({ tableSize: 4096, maxListSize: 1e6 });
}

function decoded(decoder: HpackDecoder, block: Buffer): readonly string[] {
  return decoder.decode(block, 0, block.length).fields;
}

const EMPTY = new HeaderTemplate([]);
const ANSWER = new HeaderTemplate([':status', '200', 'content-type', 'application/grpc', 'x-served-by', 'us']);
const TRAILERS = new HeaderTemplate(['grpc-status', '0']);

describe('HpackEncoder', () => {
  it('sends a template in a byte a field once its fields are in the table', () => {
    const encoder = new HpackEncoder();
    const decoder = newDecoder();
    const first = encode(encoder, ANSWER);
    expect(decoded(decoder, first)).toEqual(ANSWER.fields);
    expect(encode(encoder, ANSWER).toString('hex')).toBe('88bfbe');
    expect(decoded(decoder, encode(encoder, TRAILERS))).toEqual(TRAILERS.fields);
    for (let i = 0; i < 3; i++) {
      expect(encode(encoder, ANSWER).toString('hex')).toBe('88c0bf');
      expect(encode(encoder, TRAILERS).toString('hex')).toBe('be');
    }
    expect(decoded(decoder, encode(encoder, ANSWER))).toEqual(ANSWER.fields);
  });

  it('indexes no field of a single message, and refers to names that are known', () => {
    const encoder = new HpackEncoder();
    const decoder = newDecoder();
    decoded(decoder, encode(encoder, TRAILERS));
    const extra = ['grpc-status', '5', 'grpc-message', 'not here', 'content-length', '17'];
    const block = encode(encoder, EMPTY.with(extra));
    // Without indexing: the name from the dynamic table, a new one, one from the static table.
    expect(block.toString('latin1')).toContain('\x0f\x2f\x015');
    expect(block.toString('latin1')).toContain('\x0f\x0d\x0217');
    expect(decoded(decoder, block)).toEqual(extra);
    expect(encode(encoder, EMPTY.with(extra))).toEqual(block);
  });

  it('sends secrets as fields that are never indexed', () => {
    const encoder = new HpackEncoder();
    const decoder = newDecoder();
    const template = new HeaderTemplate(['authorization', 'Bearer 1234', 'cookie', 'a=b']);
    for (let i = 0; i < 2; i++) {
      const block = encode(encoder, template);
      // Index 23 in four bits, then the rest.
      expect(block.subarray(0, 2).toString('hex')).toBe('1f08');
      expect(decoded(decoder, block)).toEqual(template.fields);
    }
    expect(
      encode(encoder, EMPTY.with(['set-cookie', 'a=b']))
        .subarray(0, 2)
        .toString('hex'),
    ).toBe('1f28');
  });

  it('stops indexing when the table is full, and evicts nothing', () => {
    const encoder = new HpackEncoder();
    const decoder = newDecoder();
    const templates = Array.from({ length: 200 }, (_, i) => new HeaderTemplate(['x-long', 'v'.repeat(60) + i]));
    for (let round = 0; round < 3; round++) {
      for (const template of templates) {
        expect(decoded(decoder, encode(encoder, template))).toEqual(template.fields);
      }
    }
    expect(encode(encoder, templates[0]!)).toHaveLength(1);
    expect(encode(encoder, templates[199]!).length).toBeGreaterThan(30);
  });

  it.each([
    [0, '20'],
    [100, '203f45'],
  ])('tells the decoder of a table of %i bytes with the next block', (size, update) => {
    const encoder = new HpackEncoder();
    const decoder = newDecoder();
    decoded(decoder, encode(encoder, ANSWER));
    encoder.setPeerTableSize(size);
    const block = encode(encoder, ANSWER);
    expect(block.toString('hex').startsWith(update)).toBe(true);
    expect(decoded(decoder, block)).toEqual(ANSWER.fields);
    expect(decoded(decoder, encode(encoder, ANSWER))).toEqual(ANSWER.fields);
    expect(encode(encoder, ANSWER).toString('hex').startsWith(update)).toBe(false);
  });

  it('goes back to its own size when the peer allows more again, and never beyond it', () => {
    const encoder = new HpackEncoder();
    const decoder = newDecoder();
    encoder.setPeerTableSize(100);
    encoder.setPeerTableSize(1 << 30);
    const block = encode(encoder, ANSWER);
    expect(block.toString('hex').startsWith('203fe11f')).toBe(true);
    expect(decoded(decoder, block)).toEqual(ANSWER.fields);
    encoder.setPeerTableSize(8192);
    expect(encode(encoder, ANSWER).toString('hex')).toBe('88bfbe');
  });

  it('writes long texts', () => {
    const fields = ['x-long', 'Ab~'.repeat(10_000), 'x-bytes', '\x80\xff'.repeat(500), 'n'.repeat(300), ''];
    for (const headers of [new HeaderTemplate(fields), EMPTY.with(fields)]) {
      expect(decoded(newDecoder(), encode(new HpackEncoder(), headers))).toEqual(fields);
    }
  });

  it('is understood whatever it is asked to send', () => {
    const name = fc.stringMatching(/^:?[a-z0-9-]{1,8}$/);
    const value = fc.oneof(fc.constantFrom('', '200', 'GET'), fc.stringMatching(/^[!-~]{0,40}$/));
    const fields = fc.array(fc.tuple(name, value), { maxLength: 6 }).map((pairs) => pairs.flat());
    const templates = fc.array(
      fields.map((list) => new HeaderTemplate(list)),
      { minLength: 1, maxLength: 5 },
    );
    const step = fc.record({
      template: fc.nat(),
      extra: fc.option(fields, { nil: undefined }),
      tableSize: fc.option(fc.constantFrom(0, 60, 500, 4096, 65_536), { nil: undefined, freq: 8 }),
    });
    fc.assert(
      fc.property(templates, fc.array(step, { maxLength: 30 }), (made, steps) => {
        const encoder = new HpackEncoder();
        const decoder = newDecoder();
        for (const { template, extra, tableSize } of steps) {
          if (tableSize !== undefined) encoder.setPeerTableSize(tableSize);
          const chosen = made[template % made.length]!;
          const headers = extra === undefined ? chosen : chosen.with(extra);
          expect(decoded(decoder, encode(encoder, headers))).toEqual([...chosen.fields, ...(extra ?? [])]);
        }
      }),
      { seed: 7541 },
    );
  });
});

describe('HeaderTemplate', () => {
  it.each([
    ['an upper-case name', ['Name', 'v']],
    ['a name with a space', ['a b', 'v']],
    ['an empty name', ['', 'v']],
    ['a value with a line break', ['a', 'b\r\nc: d']],
    ['a value with NUL', ['a', '\0']],
    ['a value that is no bytes', ['a', '\u{1f600}']],
    ['a value with a space before it', ['a', ' b']],
    ['a value with a space behind it', ['a', 'b\t']],
    ['a name without a value', ['a']],
  ])('refuses %s', (_, fields) => {
    expect(() => new HeaderTemplate(fields)).toThrow(TypeError);
    expect(() => EMPTY.with(fields)).toThrow(TypeError);
  });
});
