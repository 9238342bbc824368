import { describe, expect, it } from 'vitest';

import { elementTexts } from './element-texts.js';

describe('texts of elements', () => {
  it.each([
    ['INT32', Int32Array.of(-1, 2), ['-1', '2']],
    ['UINT64', BigUint64Array.of(2n ** 64n - 1n), ['18446744073709551615']],
    ['FP32', Float32Array.of(1, 2.5), ['1', '2.5']],
    ['BOOL', Uint8Array.of(1, 0), ['1', '0']],
    ['FP16', Uint16Array.of(0x3e00), ['1.5']],
    ['BF16', Uint16Array.of(0x3fc0), ['1.5']],
  ] as const)('of %s are decimal', (datatype, data, expected) => {
    const bytes = new Uint8Array(data.buffer);
    expect(elementTexts({ datatype, bytes }, 10)).toEqual(expected);
    expect(elementTexts({ datatype, bytes }, expected.length)).toEqual(expected);
  });

  it('of BYTES are in quotes', () => {
    const bytes = Buffer.from('\x01\0\0\0a\x00\0\0\0\x02\0\0\0é', 'utf8');
    expect(elementTexts({ datatype: 'BYTES', bytes }, 3)).toEqual(['"a"', '""', '"é"']);
    expect(elementTexts({ datatype: 'BYTES', bytes }, 2)).toEqual(['"a"', '""', '…']);
  });

  it('are of the first elements only', () => {
    const bytes = new Uint8Array(Int16Array.of(1, 2, 3).buffer);
    expect(elementTexts({ datatype: 'INT16', bytes }, 2)).toEqual(['1', '2', '…']);
    expect(elementTexts({ datatype: 'INT16', bytes }, 3)).toEqual(['1', '2', '3']);
  });
});
