import { describe, expect, it } from 'vitest';
import { finishPaced } from '../pacing/paced-work.js';

import type { InferTensor } from '../model/exchange.js';
import type { Datatype } from '../tensor/dtype.js';
import { decodeRaw } from '../tensor/raw.js';
import { classify, fixedText, type ClassificationOptions } from './classification.js';

function tensor(datatype: Datatype, data: ArrayBufferView, shape: readonly number[]): InferTensor {
  return { name: 'scores', datatype, shape, bytes: new Uint8Array(data.buffer, data.byteOffset, data.byteLength) };
}

function classified(output: InferTensor, options: ClassificationOptions): InferTensor {
  return finishPaced(classify(output, options));
}

function classes(output: InferTensor, options: Partial<ClassificationOptions> = {}): string[] {
  const strings = classified(output, { classes: 3, batching: false, ...options });
  expect(strings.datatype).toBe('BYTES');
  return decodeRaw('string', strings.bytes);
}

const LABELS = ['cat', 'dog', 'fish', 'bird and wing', 'snäke'];

describe('classify', () => {
  it('gives value, index and label of the best values, equal ones in their order', () => {
    const scores = tensor('FP32', Float32Array.of(0.1, 0.5, -2, 100000.25, 0.5), [1, 5]);
    const all = [
      '100000.250000:3:bird and wing',
      '0.500000:1:dog',
      '0.500000:4:snäke',
      '0.100000:0:cat',
      '-2.000000:2:fish',
    ];
    for (const [asked, given] of [
      [1, 1],
      [3, 3],
      [5, 5],
      [10, 5],
      [18446744073709551615n, 5],
    ] as const) {
      const options = { classes: asked, labels: LABELS, batching: true };
      expect(classes(scores, options)).toEqual(all.slice(0, given));
      expect(classified(scores, options).shape).toEqual([1, given]);
    }
  });

  it('classifies each row of a batch, over all its other axes', () => {
    const grid = tensor('INT32', Int32Array.of(1, 2, 3, 4, 8, 7, 6, 5), [2, 2, 2]);
    const options = { classes: 2, labels: ['a', '', 'c'], batching: true };
    expect(classes(grid, options)).toEqual(['4:3', '3:2:c', '8:0:a', '7:1']);
    expect(classified(grid, options).shape).toEqual([2, 2]);
    expect(classes(grid, { classes: 2, batching: false })).toEqual(['8:4', '7:5']);
    expect(classified(grid, { classes: 2, batching: false }).shape).toEqual([2]);
  });

  it.each([
    ['UINT8', Uint8Array.of(1, 255, 3), ['255:1', '3:2', '1:0']],
    ['INT8', Int8Array.of(1, -3, 2), ['2:2', '1:0', '-3:1']],
    ['UINT16', Uint16Array.of(1, 65535, 3), ['65535:1', '3:2', '1:0']],
    ['INT16', Int16Array.of(1, -3, 2), ['2:2', '1:0', '-3:1']],
    ['UINT32', Uint32Array.of(1, 4294967295, 3), ['4294967295:1', '3:2', '1:0']],
    [
      'INT64',
      BigInt64Array.of(9007199254740992n, 9007199254740993n, -1n),
      ['9007199254740993:1', '9007199254740992:0', '-1:2'],
    ],
    ['UINT64', BigUint64Array.of(1n, 18446744073709551615n, 3n), ['18446744073709551615:1', '3:2', '1:0']],
    ['FP64', Float64Array.of(1, 3, 2), ['3.000000:1', '2.000000:2', '1.000000:0']],
  ] as const)('orders %s', (datatype, data, expected) => {
    expect(classes(tensor(datatype, data, [3]))).toEqual(expected);
  });

  it('puts NaN first and knows both infinities', () => {
    const odd = tensor('FP32', Float32Array.of(-Infinity, NaN, 1, Infinity, NaN), [5]);
    expect(classes(odd, { classes: 5 })).toEqual(['nan:1', 'nan:4', 'inf:3', '1.000000:2', '-inf:0']);
  });

  it('finds the best of many as a full sort does', () => {
    const values = Float32Array.from({ length: 5000 }, (_, i) => ((i * 7919) % 1009) / 8);
    const sorted = [...values.keys()].sort((a, b) => values[b]! - values[a]! || a - b);
    for (const count of [1, 2, 31, 33, 700, 4999]) {
      const indices = classes(tensor('FP32', values, [5000]), { classes: count }).map((text) =>
        Number(text.split(':')[1]),
      );
      expect(indices).toEqual(sorted.slice(0, count));
    }
  });

  it('has nothing to say of an output without elements', () => {
    expect(classified(tensor('FP32', new Float32Array(), [1, 0]), { classes: 3, batching: true })).toEqual({
      name: 'scores',
      datatype: 'BYTES',
      shape: [1, 0],
      bytes: Buffer.alloc(0),
    });
    expect(classified(tensor('FP32', new Float32Array(), [0, 4]), { classes: 3, batching: true }).shape).toEqual([
      0, 0,
    ]);
    expect(classified(tensor('FP32', new Float32Array(), [0]), { classes: 3, batching: false }).shape).toEqual([0]);
  });

  it.each(['BOOL', 'BYTES', 'FP16', 'BF16'] as const)('refuses %s', (datatype) => {
    expect(() => classes(tensor(datatype, new Uint8Array(4), [2]))).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARG',
        message: `class result not available for output due to unsupported type '${datatype}'`,
      }),
    );
  });

  it('refuses rows and answers of more than a million elements', () => {
    const refusal = 'classification output tensor too large';
    expect(() => classes(tensor('UINT8', new Uint8Array(1_000_001), [1_000_001]), { classes: 1 })).toThrow(refusal);
    const batched = tensor('UINT8', new Uint8Array(1_200_000), [1200, 1000]);
    expect(() => classes(batched, { classes: 1000, batching: true })).toThrow(refusal);
    expect(classes(batched, { classes: 2, batching: true })).toHaveLength(2400);
  });

  it('refuses bytes that are not what the shape says', () => {
    expect(() => classes(tensor('FP32', new Uint8Array(7), [2]))).toThrow(
      "output 'scores' has 7 bytes, which is not the size of FP32 of shape [2]",
    );
  });
});

describe('fixedText', () => {
  it.each([
    [0, '0.000000'],
    [-0, '-0.000000'],
    [1, '1.000000'],
    [Math.fround(0.1), '0.100000'],
    [-1e-10, '-0.000000'],
    [Math.fround(1e33), '999999994495727286427992885035008.000000'],
    [Number.MAX_VALUE, `${BigInt(Number.MAX_VALUE)}.000000`],
    [-1e21, '-1000000000000000000000.000000'],
    // Ties: 1/128 and 3/128 lie exactly between two texts.
    [1 / 128, '0.007812'],
    [3 / 128, '0.023438'],
    [-1 / 128, '-0.007812'],
    [12 + 1 / 128, '12.007812'],
    [0.0000005, '0.000000'],
    [0.00000051, '0.000001'],
    [0.9999996, '1.000000'],
  ])('prints %d as %s', (value, text) => {
    expect(fixedText(value)).toBe(text);
  });
});
