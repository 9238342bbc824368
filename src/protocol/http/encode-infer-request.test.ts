import { describe, expect, it } from 'vitest';
import { finishPaced } from '../../pacing/paced-work.js';
import { NO_SHARED_MEMORY } from '../../../test/support/no-shared-memory.js';
import type { ModelInferRequest } from '../../model/exchange.js';
import { completeModelConfig } from '../../model/complete-model.js';
import { decodeInferRequest } from './decode-infer-request.js';
import { encodeInferRequest, encodeJsonRequest } from './encode-infer-request.js';

const EMPTY: ModelInferRequest = {
  modelName: 'M',
  modelVersion: '',
  id: '',
  parameters: undefined,
  inputs: [],
  outputs: [],
  priority: 0,
  timeoutMicroseconds: 0,
};

function jsonOf(request: ModelInferRequest): string {
  const { chunks, headerLength } = encodeInferRequest(request);
  return Buffer.concat(chunks).toString('utf8', 0, headerLength);
}

describe('encodeInferRequest', () => {
  it('writes the smallest request', () => {
    expect(jsonOf(EMPTY)).toBe('{"parameters":{"binary_data_output":true},"inputs":[]}');
  });

  it('writes all members', () => {
    const request: ModelInferRequest = {
      ...EMPTY,
      id: 'a"b',
      parameters: { s: 'é\n', yes: true, no: false, int: -5, large: 2n ** 63n, fraction: 0.25, huge: 1e300 },
      inputs: [
        { name: 'x', datatype: 'FP32', shape: [1, 2], bytes: new Uint8Array(8) },
        { name: 'é', datatype: 'BYTES', shape: [], bytes: new Uint8Array(4) },
      ],
      outputs: ['y', 'z'],
      priority: 2,
      timeoutMicroseconds: 1000,
    };
    expect(jsonOf(request)).toBe(
      '{"id":"a\\"b","parameters":{"s":"é\\n","yes":true,"no":false,"int":-5,"large":9223372036854775808,"fraction":0.25,"huge":1e300,' +
        '"priority":2,"timeout":1000},' +
        '"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"parameters":{"binary_data_size":8}},' +
        '{"name":"é","datatype":"BYTES","shape":[],"parameters":{"binary_data_size":4}}],' +
        '"outputs":[{"name":"y","parameters":{"binary_data":true}},{"name":"z","parameters":{"binary_data":true}}]}',
    );
  });

  it('is what the server decodes', () => {
    const request: ModelInferRequest = {
      ...EMPTY,
      id: 'r',
      parameters: { temperature: 0.5 },
      inputs: [
        { name: 'empty', datatype: 'FP32', shape: [0], bytes: new Uint8Array(0) },
        { name: 'x', datatype: 'INT16', shape: [2], bytes: Uint8Array.of(1, 2, 3, 4) },
        { name: 'y', datatype: 'UINT8', shape: [1], bytes: Uint8Array.of(5) },
      ],
      outputs: ['o'],
      priority: 1,
      timeoutMicroseconds: 7,
    };
    const { chunks, headerLength } = encodeInferRequest(request);
    const body = Buffer.concat(chunks);
    const given = { modelVersion: '', body, headerLength: String(headerLength), maxInputSize: 1000 };
    const config = completeModelConfig({ modelName: 'M', inputs: {}, outputs: {} }, 1);
    const decoded = finishPaced(finishPaced(decodeInferRequest(given)).complete(config, NO_SHARED_MEMORY));
    expect(decoded.request).toMatchObject({
      id: 'r',
      parameters: { temperature: 0.5 },
      outputs: ['o'],
      priority: 1,
      timeoutMicroseconds: 7,
    });
    expect(decoded.request.inputs.map(({ name, shape, bytes }) => [name, shape, [...bytes]])).toEqual([
      ['empty', [0], []],
      ['x', [2], [1, 2, 3, 4]],
      ['y', [1], [5]],
    ]);
    expect(decoded.binaryOutputs.listed?.get('o')).toBe(true);
  });

  it.each([
    [7, '7'],
    ['größe', '"größe"'],
    [2n ** 64n - 1n, '18446744073709551615'],
  ])('tells the sequence %s and whether it begins and ends', (id, told) => {
    expect(jsonOf({ ...EMPTY, sequence: { id, start: true, end: false } })).toBe(
      `{"parameters":{"sequence_id":${told},"sequence_start":true,"sequence_end":false,"binary_data_output":true},"inputs":[]}`,
    );
  });

  it('copies no tensor', () => {
    const small = { name: 'x', datatype: 'UINT8', shape: [3], bytes: Uint8Array.of(1, 2, 3) } as const;
    const large = { name: 'y', datatype: 'UINT8', shape: [100_000], bytes: new Uint8Array(100_000) } as const;
    const { chunks, headerLength } = encodeInferRequest({ ...EMPTY, inputs: [small, large] });
    expect(chunks.map((chunk) => chunk.byteLength)).toEqual([headerLength, 3, 100_000]);
    expect(chunks[1]).toBe(small.bytes);
    expect(chunks[2]).toBe(large.bytes);
  });

  it('refuses a parameter that is no scalar, and encodes the next request from its beginning', () => {
    expect(() => encodeInferRequest({ ...EMPTY, parameters: { a: null as never } })).toThrow(
      "parameter 'a' must be a string, a boolean or a number, got object",
    );
    expect(jsonOf(EMPTY)).toMatch(/^\{"parameters"/);
  });
});

describe('encodeJsonRequest', () => {
  const textOf = (request: ModelInferRequest) => Buffer.concat(encodeJsonRequest(request).chunks).toString();

  it('writes elements in place of bytes, and asks for the same', () => {
    expect(textOf(EMPTY)).toBe('{"inputs":[]}');
    const request = {
      ...EMPTY,
      id: 'r',
      parameters: { n: 1 },
      inputs: [
        { name: 'x', datatype: 'FP32', shape: [1, 2], bytes: new Uint8Array(Float32Array.of(0.5, -2).buffer) },
        { name: 's', datatype: 'BYTES', shape: [1], bytes: Buffer.from('\x02\0\0\0é') },
        { name: 'n', datatype: 'INT64', shape: [1], bytes: new Uint8Array(BigInt64Array.of(2n ** 62n).buffer) },
        { name: 'b', datatype: 'BOOL', shape: [2], bytes: Uint8Array.of(1, 0) },
      ],
      outputs: ['y', 'z'],
      classes: new Map([['z', 3]]),
    } as const;
    expect(textOf(request)).toBe(
      '{"id":"r","parameters":{"n":1},"inputs":[' +
        '{"name":"x","datatype":"FP32","shape":[1,2],"data":[0.5,-2.0]},' +
        '{"name":"s","datatype":"BYTES","shape":[1],"data":["é"]},' +
        '{"name":"n","datatype":"INT64","shape":[1],"data":[4611686018427387904]},' +
        '{"name":"b","datatype":"BOOL","shape":[2],"data":[true,false]}' +
        '],"outputs":[{"name":"y"},{"name":"z","parameters":{"classification":3}}]}',
    );
    expect(encodeJsonRequest(request).headerLength).toBeUndefined();
  });

  it('refuses what has no form in JSON, and forgets what it began', () => {
    const half = { name: 'h', datatype: 'FP16', shape: [1], bytes: new Uint8Array(2) } as const;
    expect(() => encodeJsonRequest({ ...EMPTY, inputs: [half] })).toThrow(
      expect.objectContaining({ code: 'UNSUPPORTED', message: "input 'h' is FP16, which has no form in JSON" }),
    );
    const text = { name: 's', datatype: 'BYTES', shape: [1], bytes: Uint8Array.of(1, 0, 0, 0, 0xff) } as const;
    expect(() => encodeJsonRequest({ ...EMPTY, inputs: [text] })).toThrow(
      "sending input 's' via JSON is not possible: an element is not valid UTF-8. Please use the binary data format for input",
    );
    expect(textOf(EMPTY)).toBe('{"inputs":[]}');
  });
});
