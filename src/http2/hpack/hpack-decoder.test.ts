import { describe, expect, it } from 'vitest';
import { HpackDecoder } from './hpack-decoder.js';

type Fields = readonly (readonly [string, string])[];

const OPTIONS = { tableSize: 4096, maxListSize: 65_536 };

/** Blocks lie among other bytes, which could go on with any of them. */
function decode(decoder: HpackDecoder, hex: string, [before, behind] = ['82', '01018282']) {
  const bytes = Buffer.from(before + hex + behind, 'hex');
  return decoder.decode(bytes, before.length / 2, (before.length + hex.length) / 2);
}

function fieldsOf(decoder: HpackDecoder, hex: string): Fields {
  const { fields } = decode(decoder, hex);
  return Array.from({ length: fields.length / 2 }, (_, i) => [fields[2 * i]!, fields[2 * i + 1]!]);
}

function failure(decoder: HpackDecoder, hex: string): unknown {
  try {
    decode(decoder, hex);
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
  return undefined;
}

function reasonOf(hex: string): string | undefined {
  try {
    decode(new HpackDecoder(OPTIONS), hex);
  } catch (error) {
    return (error as Error).message;
  }
  return undefined;
}

/** A literal with indexing, name and value raw. */
function inserted(name: string, value: string): string {
  const text = (it: string) => it.length.toString(16).padStart(2, '0') + Buffer.from(it, 'latin1').toString('hex');
  return `40${text(name)}${text(value)}`;
}

const FIRST = [
  [':method', 'GET'],
  [':scheme', 'http'],
  [':path', '/'],
  [':authority', 'www.example.com'],
] as const;
const SECOND = [...FIRST, ['cache-control', 'no-cache']] as const;
const THIRD = [
  [':method', 'GET'],
  [':scheme', 'https'],
  [':path', '/index.html'],
  [':authority', 'www.example.com'],
  ['custom-key', 'custom-value'],
] as const;

const DATE_21 = 'Mon, 21 Oct 2013 20:13:21 GMT';
const DATE_22 = 'Mon, 21 Oct 2013 20:13:22 GMT';
const LOCATION = ['location', 'https://www.example.com'] as const;
const FIRST_ANSWER = [[':status', '302'], ['cache-control', 'private'], ['date', DATE_21], LOCATION] as const;
const SECOND_ANSWER = [[':status', '307'], ['cache-control', 'private'], ['date', DATE_21], LOCATION] as const;
const THIRD_ANSWER = [
  [':status', '200'],
  ['cache-control', 'private'],
  ['date', DATE_22],
  LOCATION,
  ['content-encoding', 'gzip'],
  ['set-cookie', 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1'],
] as const;
/** A dynamic table of 256 bytes, as the responses of appendix C have. */
const TABLE_OF_256 = '3fe101';

const COOKIE_HEX =
  '7738666f6f3d4153444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31';

describe('HpackDecoder', () => {
  // RFC 7541, appendix C.
  it.each<[string, Fields, string]>([
    ['C.2.1', [['custom-key', 'custom-header']], '400a637573746f6d2d6b65790d637573746f6d2d686561646572'],
    ['C.2.2', [[':path', '/sample/path']], '040c2f73616d706c652f70617468'],
    ['C.2.3', [['password', 'secret']], '100870617373776f726406736563726574'],
    ['C.2.4', [[':method', 'GET']], '82'],
  ])('decodes example %s of RFC 7541', (_, fields, hex) => {
    expect(fieldsOf(new HpackDecoder(OPTIONS), hex)).toEqual(fields);
  });

  it.each<[string, readonly (readonly [Fields, string])[]]>([
    [
      'C.3',
      [
        [FIRST, '828684410f7777772e6578616d706c652e636f6d'],
        [SECOND, '828684be58086e6f2d6361636865'],
        [THIRD, '828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565'],
      ],
    ],
    [
      'C.4',
      [
        [FIRST, '828684418cf1e3c2e5f23a6ba0ab90f4ff'],
        [SECOND, '828684be5886a8eb10649cbf'],
        [THIRD, '828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf'],
      ],
    ],
    [
      'C.5',
      [
        [
          FIRST_ANSWER,
          `${TABLE_OF_256}4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e1768747470733a2f2f7777772e6578616d706c652e636f6d`,
        ],
        [SECOND_ANSWER, '4803333037c1c0bf'],
        [THIRD_ANSWER, `88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a6970${COOKIE_HEX}`],
      ],
    ],
    [
      'C.6',
      [
        [
          FIRST_ANSWER,
          `${TABLE_OF_256}488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3`,
        ],
        [SECOND_ANSWER, '4883640effc1c0bf'],
        [
          THIRD_ANSWER,
          '88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007',
        ],
      ],
    ],
  ])('decodes the messages of example %s of RFC 7541 one after the other', (_, messages) => {
    const decoder = new HpackDecoder(OPTIONS);
    for (const [fields, hex] of messages) expect(fieldsOf(decoder, hex)).toEqual(fields);
  });

  it.each([
    ['index 0', '80', 'a field with index 0'],
    ['an index beyond both tables', 'be', 'a field with index 62, expected at most 61'],
    ['an index beyond both tables, where one has a field', `${inserted('a', '1')}bf`, 'a field with index 63, expected at most 62'],
    ['an index for a name beyond both tables', '7e0161', 'a field with index 62, expected at most 61'],
    ['an index that is cut off', 'ff', 'a header block ends inside a field'],
    ['an index that is cut off later', 'ff80', 'a header block ends inside a field'],
    ['an index far too large', 'ffffffffff7f', 'a number in a header block is too large: expected at most 268435455'],
    ['a number of zeros without end', '3f808080808000', 'a number in a header block is too large: expected at most 268435455'],
    ['a length with zeros without end', '00ff808080808080808001', 'a number in a header block is too large: expected at most 268435455'],
    ['a name that is missing', '00', 'a header block ends inside a field'],
    ['a name that is cut off', '000261', 'a header block ends inside a field'],
    ['a value that is missing', '000161', 'a header block ends inside a field'],
    ['a value whose length is cut off', '0001617f', 'a header block ends inside a field'],
    ['a value that is cut off', '0001610261', 'a header block ends inside a field'],
    ['a string of Huffman code without an end', '000161811e', 'a string in a header block has no valid Huffman coding'],
    ['EOS in a string', '00016184ffffffff', 'a string in a header block has no valid Huffman coding'],
    ['a table larger than was allowed', '3fe21f', 'a dynamic table of 4097 bytes, expected at most 4096'],
    ['a change of the table after a field', '8220', 'a dynamic table size update after the first field of a header block'],
    ['another one', '823fe10f', 'a dynamic table size update after the first field of a header block'],
  ])('refuses %s, whatever lies behind the block', (_, hex, reason) => {
    expect(failure(new HpackDecoder(OPTIONS), hex)).toBe('COMPRESSION_ERROR');
    expect(reasonOf(hex)).toBe(reason);
  }); // prettier-ignore

  it.each<[string, Fields, string]>([
    ['the last entry of the static table', [['www-authenticate', '']], 'bd'],
    ['the name of the last entry of the static table', [['www-authenticate', 'a']], '7d0161'],
    ['an empty string of Huffman code', [['a', '']], '00016180'],
    ['a number with as many zeros as it may have', [[':method', 'GET']], '3f808080800082'],
  ])('takes %s', (_, fields, hex) => {
    expect(fieldsOf(new HpackDecoder(OPTIONS), hex)).toEqual(fields);
  });

  it('takes several changes of the table before the first field', () => {
    const decoder = new HpackDecoder(OPTIONS);
    decode(decoder, inserted('a', '1'));
    expect(fieldsOf(decoder, `203fe11f82`)).toEqual([[':method', 'GET']]);
    expect(failure(decoder, 'be')).toBe('COMPRESSION_ERROR');
  });

  it('takes an empty block, and no change of the table from behind it', () => {
    const decoder = new HpackDecoder(OPTIONS);
    decode(decoder, inserted('a', '1'));
    expect(decode(decoder, '', ['82', '2082']).fields).toEqual([]);
    expect(decode(decoder, '3fe11f', ['82', '2082']).fields).toEqual([]);
    expect(fieldsOf(decoder, 'be')).toEqual([['a', '1']]);
  });

  it('allows a larger table than the default when that was announced', () => {
    const decoder = new HpackDecoder({ ...OPTIONS, tableSize: 8192 });
    expect(failure(decoder, '3fe13f')).toBeUndefined();
    expect(failure(decoder, '3fe23f')).toBe('COMPRESSION_ERROR');
  });

  it('wants a smaller table with the first block after the encoder knows of it', () => {
    const small = { ...OPTIONS, tableSize: 100 };
    const before = new HpackDecoder(small);
    expect(failure(before, inserted('a', '1'))).toBeUndefined();
    expect(fieldsOf(before, 'be')).toEqual([['a', '1']]);
    before.settingsAcknowledged();
    expect(failure(before, 'be')).toBe('COMPRESSION_ERROR');

    const after = new HpackDecoder(small);
    after.settingsAcknowledged();
    expect(failure(after, '3f4582')).toBeUndefined();
    expect(failure(after, '3f4682')).toBe('COMPRESSION_ERROR');
  });

  it('wants no update where the table is no larger than it may be', () => {
    const same = new HpackDecoder(OPTIONS);
    same.settingsAcknowledged();
    expect(failure(same, '82')).toBeUndefined();
    const shrunk = new HpackDecoder({ ...OPTIONS, tableSize: 100 });
    expect(failure(shrunk, '3f4582')).toBeUndefined();
    shrunk.settingsAcknowledged();
    expect(failure(shrunk, '82')).toBeUndefined();
    const late = new HpackDecoder({ ...OPTIONS, tableSize: 100 });
    late.settingsAcknowledged();
    expect(failure(late, '')).toBe('COMPRESSION_ERROR');
  });

  it('says what is wrong with a table that has not shrunk', () => {
    const decoder = new HpackDecoder({ ...OPTIONS, tableSize: 100 });
    decoder.settingsAcknowledged();
    expect(() => decode(decoder, '82')).toThrow('a dynamic table that is still larger than 100 bytes');
  });

  it('tells names and values that no message may have, wherever they come from', () => {
    const decoder = new HpackDecoder(OPTIONS);
    const problem = (hex: string) => decode(decoder, hex).problemAs('trailers');
    expect(problem(inserted('Upper', 'v'))).toMatch(/forbidden bytes/);
    expect(problem('be')).toMatch(/forbidden bytes/);
    expect(problem(inserted('a', '1\n2'))).toMatch(/forbidden bytes/);
    expect(problem('be')).toMatch(/forbidden bytes/);
    // The name of the newest field is fine, only its value was not.
    expect(problem('0f2f0131')).toBeUndefined();
    expect(problem('0f300131')).toMatch(/forbidden bytes/);
    for (const value of ['\0', 'a\nb', '\r']) expect(problem(inserted('a', value))).toMatch(/forbidden/);
    for (const value of ['', 'a b', ' a', 'a\t', '\xff', '\x01']) expect(problem(inserted('a', value))).toBeUndefined();
    for (const name of ['', ':', 'a b', 'a:', 'é']) expect(problem(inserted(name, '1'))).toMatch(/forbidden/);
  });

  it('takes fields up to the size limit', () => {
    const list = decode(new HpackDecoder({ ...OPTIONS, maxListSize: 68 }), inserted('a', '1') + inserted('b', '2'));
    expect([list.fields, list.isCut]).toEqual([['a', '1', 'b', '2'], false]);
  });

  it('drops fields beyond the size limit, but keeps them in the table', () => {
    const decoder = new HpackDecoder({ ...OPTIONS, maxListSize: 80 });
    const list = decode(decoder, inserted('a', '1') + inserted('b', '2'.repeat(20)) + inserted('c', '3'));
    expect(list.fields).toEqual(['a', '1']);
    expect(list.isCut).toBe(true);
    expect(fieldsOf(decoder, 'be')).toEqual([['c', '3']]);
    expect(fieldsOf(decoder, 'bf')).toEqual([['b', '2'.repeat(20)]]);
  });
});

describe('a block that is the same as one before', () => {
  it('is the very same list, as long as the table is the same', () => {
    const decoder = new HpackDecoder(OPTIONS);
    decode(decoder, inserted('a', '1'));
    const list = decode(decoder, '82be');
    list.memo = 'known';
    expect(decode(decoder, '82be').memo).toBe('known');
    expect(decode(decoder, '83be')).not.toBe(list);
    expect(decode(decoder, '82be')).toBe(list);

    decode(decoder, inserted('b', '2'));
    const other = decode(decoder, '82be');
    expect(other.fields).toEqual([':method', 'GET', 'b', '2']);
    expect(decode(decoder, '82bf').fields).toEqual([':method', 'GET', 'a', '1']);
  });

  it('changes the table each time when it did so the first time', () => {
    const decoder = new HpackDecoder(OPTIONS);
    const hex = inserted('a', '1');
    decode(decoder, hex);
    decode(decoder, hex);
    expect(fieldsOf(decoder, 'bebf')).toEqual([
      ['a', '1'],
      ['a', '1'],
    ]);
  });

  it('is remembered when it held a field that is not indexed, but may be', () => {
    const decoder = new HpackDecoder(OPTIONS);
    expect(decode(decoder, '0001610131')).toBe(decode(decoder, '0001610131'));
  });

  it('is decoded again when it held a field that must never be indexed', () => {
    const decoder = new HpackDecoder(OPTIONS);
    const hex = '100870617373776f726406736563726574';
    const list = decode(decoder, hex);
    expect(decode(decoder, hex)).not.toBe(list);
    expect(decode(decoder, hex).fields).toEqual(list.fields);
  });

  it('is remembered among a few others only, and not when it is long', () => {
    const decoder = new HpackDecoder(OPTIONS);
    const blocks = Array.from({ length: 20 }, (_, i) => `000161${'01'}${(0x30 + i).toString(16)}`);
    const lists = blocks.map((hex) => decode(decoder, hex));
    expect(blocks.filter((hex, i) => decode(decoder, hex) === lists[i])).toHaveLength(0);
    const long = '82'.repeat(1000);
    expect(decode(decoder, long)).not.toBe(decode(decoder, long));
  });
});
