import { describe, expect, it } from 'vitest';
import { finishPaced } from '../../pacing/paced-work.js';

import type { InferTensor, ModelInferResponse } from '../../model/exchange.js';
import type { Datatype } from '../../tensor/dtype.js';
import { encodeRaw } from '../../tensor/raw.js';
import type { BinaryOutputs } from './encode-infer-response.js';
import { encodeInferResponse } from './encode-infer-response.js';

const JSON_OUTPUTS: BinaryOutputs = { byDefault: false, listed: undefined };
const BINARY_OUTPUTS: BinaryOutputs = { byDefault: true, listed: undefined };

const response = (outputs: readonly InferTensor[], more: Partial<ModelInferResponse> = {}): ModelInferResponse => ({
  modelName: 'm',
  modelVersion: '1',
  id: '',
  parameters: undefined,
  outputs,
  ...more,
});

function tensor(name: string, datatype: Datatype, shape: readonly number[], data: ArrayBufferView): InferTensor {
  return { name, datatype, shape, bytes: new Uint8Array(data.buffer, data.byteOffset, data.byteLength) };
}

function strings(name: string, elements: readonly (string | Uint8Array)[]): InferTensor {
  const bytes = encodeRaw(
    'bytes',
    elements.map((element) => (typeof element === 'string' ? Buffer.from(element) : element)),
  );
  return { name, datatype: 'BYTES', shape: [elements.length], bytes };
}

/** The body as text. */
function body(given: ModelInferResponse, outputs: BinaryOutputs = JSON_OUTPUTS): string {
  const { parts, contentLength } = finishPaced(encodeInferResponse(given, outputs));
  const whole = Buffer.concat(parts);
  expect(whole.length).toBe(contentLength);
  return whole.toString('latin1');
}

const dataOf = (output: InferTensor) =>
  /"data":\[(.*)\]\}\]\}$/s.exec(Buffer.from(body(response([output])), 'latin1').toString())![1];

describe('JSON outputs', () => {
  it('have the order of members that Triton has', () => {
    const outputs = [
      tensor('a', 'FP32', [1, 2], Float32Array.of(0.5, 2)),
      tensor('b', 'INT32', [2], Int32Array.of(-1, 7)),
    ];
    expect(
      body(response(outputs, { id: 'i"d', parameters: { n: 1, big: 2n ** 60n, half: 0.5, yes: true, text: 'é' } })),
    ).toBe(
      Buffer.from(
        '{"id":"i\\"d","model_name":"m","model_version":"1","parameters":{"n":1,"big":1152921504606846976,"half":0.5,"yes":true,"text":"é"},' +
          '"outputs":[{"name":"a","datatype":"FP32","shape":[1,2],"data":[0.5,2.0]},{"name":"b","datatype":"INT32","shape":[2],"data":[-1,7]}]}',
      ).toString('latin1'),
    );
  });

  it('leave out an empty id and empty parameters', () => {
    expect(body(response([], { parameters: {} }))).toBe('{"model_name":"m","model_version":"1","outputs":[]}');
  });

  it.each<[Datatype, ArrayBufferView, string]>([
    ['BOOL', Uint8Array.of(1, 0, 255), 'true,false,true'],
    ['UINT8', Uint8Array.of(0, 255), '0,255'],
    ['UINT16', Uint16Array.of(65535), '65535'],
    ['UINT32', Uint32Array.of(4294967295), '4294967295'],
    ['UINT64', BigUint64Array.of(18446744073709551615n), '18446744073709551615'],
    ['INT8', Int8Array.of(-128), '-128'],
    ['INT16', Int16Array.of(-32768), '-32768'],
    ['INT32', Int32Array.of(-2147483648), '-2147483648'],
    ['INT64', BigInt64Array.of(-9223372036854775808n, 9007199254740993n), '-9223372036854775808,9007199254740993'],
    ['FP32', Float32Array.of(0.1, -0, NaN, -Infinity), '0.10000000149011612,-0.0,NaN,-Infinity'],
    ['FP64', Float64Array.of(0.1, 1e30), '0.1,1e30'],
  ])('of %s', (datatype, data, text) => {
    const length = (data as Uint8Array).length;
    expect(dataOf(tensor('y', datatype, [length], data))).toBe(text);
  });

  it('of misaligned bytes', () => {
    const bytes = new Uint8Array(9);
    new DataView(bytes.buffer).setFloat64(1, 2.5, true);
    expect(dataOf({ name: 'y', datatype: 'FP64', shape: [1], bytes: bytes.subarray(1) })).toBe('2.5');
  });

  it('of BYTES are strings', () => {
    expect(dataOf(strings('y', ['a"b', '', 'é世😀', '\ufffd']))).toBe('"a\\"b","","é世😀","\ufffd"');
    expect(dataOf(strings('y', []))).toBe('');
  });

  it('of BYTES that are no text are refused', () => {
    expect(() => body(response([strings('y', ['fine', Buffer.of(0xff, 0xfe)])]))).toThrow(
      expect.objectContaining({ code: 'INVALID_ARG', message: expect.stringContaining("output 'y'") }),
    );
  });

  it.each<Datatype>(['FP16', 'BF16'])('of %s are refused', (datatype) => {
    expect(() => body(response([tensor('y', datatype, [1], Uint16Array.of(1))]))).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARG',
        message: `sending ${datatype} data via JSON is not supported. Please use the binary data format for output`,
      }),
    );
  });

  it('whose bytes do not make the shape are refused', () => {
    expect(() => body(response([tensor('y', 'FP32', [3], Float32Array.of(1, 2))]))).toThrow(
      expect.objectContaining({
        code: 'INTERNAL',
        message: "Failed to write 'data' field: output tensor shape does not match size of output for 'y'",
      }),
    );
  });

  it('come out whole after one that was refused', () => {
    expect(() => body(response([tensor('y', 'FP16', [1], Uint16Array.of(1))]))).toThrow('FP16');
    expect(body(response([]))).toBe('{"model_name":"m","model_version":"1","outputs":[]}');
  });
});

describe('binary outputs', () => {
  const add = tensor('add', 'UINT8', [2], Uint8Array.of(0x41, 0x42));
  const sub = tensor('sub', 'FP16', [1], Uint16Array.of(0x4443));

  it('follow the JSON in the order of the outputs', () => {
    const json =
      '{"model_name":"m","model_version":"1","outputs":[{"name":"add","datatype":"UINT8","shape":[2],"parameters":{"binary_data_size":2}},' +
      '{"name":"sub","datatype":"FP16","shape":[1],"parameters":{"binary_data_size":2}}]}';
    expect(body(response([add, sub]), BINARY_OUTPUTS)).toBe(`${json}ABCD`);
    expect(finishPaced(encodeInferResponse(response([add, sub]), BINARY_OUTPUTS)).headerLength).toBe(json.length);
  });

  it('stand beside JSON ones', () => {
    const listed = new Map([
      ['sub', true],
      ['add', false],
    ]);
    expect(body(response([add, sub]), { byDefault: false, listed })).toBe(
      '{"model_name":"m","model_version":"1","outputs":[{"name":"add","datatype":"UINT8","shape":[2],"data":[65,66]},' +
        '{"name":"sub","datatype":"FP16","shape":[1],"parameters":{"binary_data_size":2}}]}CD',
    );
  });

  it('of no bytes make no binary answer', () => {
    const empty = tensor('y', 'FP32', [1, 0], new Float32Array(0));
    const { headerLength, parts } = finishPaced(encodeInferResponse(response([empty]), BINARY_OUTPUTS));
    expect(headerLength).toBeUndefined();
    expect(parts).toHaveLength(1);
  });

  it('are not copied', () => {
    expect(finishPaced(encodeInferResponse(response([add]), BINARY_OUTPUTS)).parts[1]).toBe(add.bytes);
  });
});

describe('outputs in shared memory', () => {
  it('have neither data nor a size in the answer', () => {
    const given = response([
      { name: 'y', datatype: 'FP32', shape: [2], bytes: new Uint8Array(0) },
      tensor('z', 'INT32', [1], Int32Array.of(7)),
    ]);
    expect(body(given, { byDefault: true, listed: undefined, elsewhere: new Set(['y']) })).toContain(
      '"outputs":[{"name":"y","datatype":"FP32","shape":[2]},{"name":"z","datatype":"INT32","shape":[1],"parameters":{"binary_data_size":4}}]}',
    );
  });
});
