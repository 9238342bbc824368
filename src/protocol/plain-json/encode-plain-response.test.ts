import { describe, expect, it } from 'vitest';

import type { CompleteModelConfig, CompleteTensorSpec } from '../../model/complete-model-config.js';
import type { InferTensor, ModelInferResponse } from '../../model/exchange.js';
import { finishPaced } from '../../pacing/paced-work.js';
import { type DataOf, type Dtype, DTYPES } from '../../tensor/dtype.js';
import { encodeRaw } from '../../tensor/raw.js';
import { encodePlainResponse, EVENT, LINE, ONE_ANSWER, type Framing } from './encode-plain-response.js';

function output<D extends Dtype>(dtype: D, shape: readonly number[], data: DataOf[D]): InferTensor {
  return { name: 'y', datatype: DTYPES[dtype].datatype, shape, bytes: encodeRaw(dtype, data) };
}

function encode(
  { bytes, ...tensor }: InferTensor,
  {
    batched = true,
    spec = {},
    framing = ONE_ANSWER,
    parameters,
  }: {
    readonly batched?: boolean;
    readonly spec?: Partial<CompleteTensorSpec>;
    readonly framing?: Framing;
    readonly parameters?: ModelInferResponse['parameters'];
  } = {},
): string {
  const declared = { name: 'y', shape: [-1], ...spec };
  const config = { maxBatchSize: batched ? 4 : 0, outputs: [declared] } as unknown as CompleteModelConfig;
  const response = { modelName: 'm', modelVersion: '1', id: '', parameters, outputs: [{ ...tensor, bytes }] };
  return Buffer.concat(finishPaced(encodePlainResponse(response, config, framing))).toString();
}

const range = (count: number) => Float32Array.from({ length: count }, (_, i) => i);

describe('encodePlainResponse', () => {
  it.each<[InferTensor, unknown, Parameters<typeof encode>[1]?]>([
    [output('float32', [1, 3], range(3)), [0, 1, 2]],
    [output('float32', [1, 2, 3], range(6)), [[0, 1, 2], [3, 4, 5]]],
    [output('float32', [2, 2, 2, 2], range(16)), [[[[0, 1], [2, 3]], [[4, 5], [6, 7]]], [[[8, 9], [10, 11]], [[12, 13], [14, 15]]]], { batched: false }],
    [output('float32', [1, 1], range(1)), 0, { spec: { shape: [1] } }],
    [output('float32', [1, 1], range(1)), [0], { spec: { shape: [-1] } }],
    [output('float32', [1, 2], range(2)), [0, 1], { spec: { shape: [1] } }],
    [output('float32', [], range(1)), 0, { batched: false, spec: { shape: [] } }],
    [output('float32', [1, 0], range(0)), []],
    [output('float32', [1, 2, 0], range(0)), [[], []]],
    [output('float32', [1, 0, 2], range(0)), []],
    [output('float64', [1, 4], Float64Array.of(NaN, Infinity, -Infinity, -0.5)), [null, null, null, -0.5]],
    [output('float16', [1, 2], Uint16Array.of(0x3c00, 0xfc00)), [1, null]],
    [output('bfloat16', [1, 2], Uint16Array.of(0x3f80, 0x7fc0)), [1, null]],
    [output('bool', [1, 2], Uint8Array.of(1, 0)), [true, false]],
    [output('uint8', [1, 2], Uint8Array.of(0, 255)), [0, 255]],
    [output('string', [1, 2, 1], ['a"\n✓', '']), [['a"\n✓'], ['']]],
    [output('bytes', [1, 1], [Buffer.from('text')]), ['text']],
    [output('bytes', [1, 2], [Buffer.of(255, 0), Buffer.of()]), ['/wA=', ''], { spec: { contentEncoding: 'base64' } }],
  ])('nests %o as its shape says', (tensor, expected, options) => {
    expect(JSON.parse(encode(tensor, options))).toEqual({ y: expected });
  }); // prettier-ignore

  it('writes 64-bit integers exactly', () => {
    expect(encode(output('int64', [1, 1], BigInt64Array.of(2n ** 62n + 1n)))).toBe('{"y":[4611686018427387905]}');
  });

  it('keeps all of long rows, long elements and many rows', () => {
    const long = range(10_000);
    expect(JSON.parse(encode(output('float32', [1, 10_000], long)))).toEqual({ y: [...long] });
    const rows = (JSON.parse(encode(output('float32', [1, 5000, 2], long))) as { y: number[][] }).y;
    expect(rows.flat()).toEqual([...long]);
    expect(rows.every(({ length }) => length === 2)).toBe(true);
    const bytes = Buffer.from(Uint8Array.from({ length: 100_001 }, (_, i) => (i * 31) % 256));
    const text = encode(output('bytes', [1, 1], [bytes]), { spec: { shape: [1], contentEncoding: 'base64' } });
    expect(JSON.parse(text)).toEqual({ y: bytes.toString('base64') });
  });

  it('reads elements wherever they lie in memory', () => {
    const tensor = output('float32', [1, 2], Float32Array.of(1, 2));
    const bytes = Buffer.concat([Buffer.of(9), tensor.bytes]).subarray(1);
    expect(encode({ ...tensor, bytes })).toBe('{"y":[1.0,2.0]}');
  });

  it('refuses bytes that are no text, and says how to declare them', () => {
    const tensor = output('bytes', [1, 1], [Buffer.of(0xff)]);
    expect(() => encode(tensor)).toThrow("output 'y' is not text; declare it with contentEncoding: 'base64'");
  });

  it('adds parameters, and frames the object', () => {
    const tensor = output('int32', [1, 1], Int32Array.of(1));
    const parameters = { a: 'b', n: NaN };
    expect(encode(tensor, { parameters, framing: LINE })).toBe('{"y":[1],"parameters":{"a":"b","n":null}}\n');
    expect(encode(tensor, { framing: EVENT })).toBe('data: {"y":[1]}\n\n');
  });
});
