import { describe, expect, it } from 'vitest';

import { TritonError } from '../../errors.js';
import type { InferTensor } from '../../model/exchange.js';
import { encodeRaw } from '../../tensor/raw.js';
import { Tensor } from '../../tensor/tensor.js';
import { chunkError, chunkRows, joinOutputs } from './batch-chunks.js';
import { TritonConnectionError, TritonTimeoutError } from '../client-errors.js';

const numbers: InferTensor = {
  name: 'n',
  datatype: 'FP32',
  shape: [5, 2],
  bytes: new Uint8Array(Float32Array.from({ length: 10 }, (_, i) => i).buffer),
};
const TEXTS = ['', 'a', 'bb', 'ccc', 'é', 'f', '', 'hh', 'iii', 'j'];
const texts: InferTensor = { name: 't', datatype: 'BYTES', shape: [5, 2], bytes: encodeRaw('string', TEXTS) };

describe('chunkRows', () => {
  it('leaves a batch whole that the model takes at once', () => {
    expect(chunkRows([numbers], 5)).toBeUndefined();
  });

  it('divides the rows in order, the bytes being views of the batch', () => {
    const chunks = chunkRows([numbers, texts], 2)!;
    expect(chunks.map(({ start, end, rows }) => [start, end, rows])).toEqual([
      [0, 2, 5],
      [2, 4, 5],
      [4, 5, 5],
    ]);
    expect(chunks.map(({ inputs }) => inputs.map(({ shape }) => shape))).toEqual([
      [
        [2, 2],
        [2, 2],
      ],
      [
        [2, 2],
        [2, 2],
      ],
      [
        [1, 2],
        [1, 2],
      ],
    ]);
    for (const { inputs } of chunks) expect(inputs[0]!.bytes.buffer).toBe(numbers.bytes.buffer);
    const joined = (index: number) => Buffer.concat(chunks.map(({ inputs }) => inputs[index]!.bytes));
    expect(joined(0)).toEqual(Buffer.from(numbers.bytes));
    expect(joined(1)).toEqual(Buffer.from(texts.bytes));
    expect(Buffer.from(chunks[1]!.inputs[1]!.bytes)).toEqual(Buffer.from(encodeRaw('string', TEXTS.slice(4, 8))));
  });

  it('takes rows without elements', () => {
    const empty: InferTensor = { name: 'e', datatype: 'BYTES', shape: [3, 0], bytes: new Uint8Array() };
    expect(chunkRows([empty], 2)!.map(({ inputs }) => inputs[0]!.shape)).toEqual([
      [2, 0],
      [1, 0],
    ]);
  });
});

describe('chunkError', () => {
  const range = { start: 2, end: 4, rows: 5 };

  it('says which rows, with the code of the error', () => {
    const error = new TritonError('NOT_FOUND', 'gone');
    expect(chunkError(error, range)).toMatchObject({
      code: 'NOT_FOUND',
      message: 'rows 2 to 3 of 5: gone',
      cause: error,
    });
  });

  it('promises nothing about the whole batch for a chunk that was not sent', () => {
    const lost = chunkError(new TritonConnectionError('lost', { requestSent: false }), range);
    expect(lost).toMatchObject({ name: 'TritonConnectionError', requestSent: true });
  });

  it('is that of the whole batch when its time is over', () => {
    const late = new TritonTimeoutError('deadline of 20 ms exceeded');
    expect(chunkError(late, range)).toBe(late);
  });
});

describe('joinOutputs', () => {
  const ranges = [
    { start: 0, end: 2, rows: 3 },
    { start: 2, end: 3, rows: 3 },
  ];
  const two = new Tensor('float32', Float32Array.of(1, 2), [2, 1]);
  const one = new Tensor('float32', Float32Array.of(3), [1, 1]);

  it('joins the rows in order, for any name', () => {
    const parts = [Object.fromEntries([['__proto__', two]]), Object.fromEntries([['__proto__', one]])];
    const joined = joinOutputs(parts, ranges, 'M');
    expect(Object.keys(joined)).toEqual(['__proto__']);
    expect(Object.values(joined)[0]!.toNested()).toEqual([[1], [2], [3]]);
  });

  it.each([
    [
      'other outputs',
      [{ y: two }, { z: one }],
      "model 'M' answered the chunks of a batch with different outputs: y; z",
    ],
    [
      'fewer rows',
      [{ y: one }, { y: one }],
      "output 'y' of model 'M' has shape [1,1] for a chunk of 2 rows, and cannot be joined",
    ],
    [
      'other dimensions',
      [{ y: two }, { y: new Tensor('float32', Float32Array.of(1, 2), [1, 2]) }],
      "output 'y' of model 'M': cannot concatenate float32 [1,2] with float32 [2,1]: dtypes and the shapes of rows must be equal",
    ],
  ])('refuses chunks with %s', (_, parts, message) => {
    expect(() => joinOutputs(parts as never, ranges, 'M')).toThrow(message);
  });
});
