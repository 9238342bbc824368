import { describe, expect, it } from 'vitest';
import { decodeInferResponse } from './decode-infer-response.js';
import { KnownHeaders } from './known-headers.js';

function decode(json: string | object, binary: readonly number[] = [], headerLength?: string) {
  const header = Buffer.from(typeof json === 'string' ? json : JSON.stringify(json));
  const length = headerLength ?? (binary.length > 0 ? String(header.length) : undefined);
  return decodeInferResponse(Buffer.concat([header, Buffer.from(binary)]), length);
}

const Y = { name: 'y', datatype: 'UINT8', shape: [2], parameters: { binary_data_size: 2 } };

describe('decodeInferResponse', () => {
  it('reads names, parameters and binary outputs in their order', () => {
    const response = decode(
      '{"id":"r","model_name":"M","model_version":"3","parameters":{"a":1,"b":1.0,"c":"s","d":true,"e":9223372036854775807,"f":[1],"g":null},' +
        '"outputs":[{"name":"y","datatype":"UINT8","shape":[1,2],"parameters":{"binary_data_size":2}},' +
        '{"name":"n","datatype":"UINT8","shape":[0],"parameters":{"binary_data_size":0}},' +
        '{"name":"z","datatype":"INT16","shape":[1],"parameters":{"binary_data_size":2}}]}',
      [1, 2, 3, 4],
    );
    expect(response).toMatchObject({ id: 'r', modelName: 'M', modelVersion: '3' });
    expect(response.parameters).toEqual({ a: 1, b: 1, c: 's', d: true, e: 9223372036854775807n });
    expect(response.outputs.map(({ name, datatype, shape, bytes }) => [name, datatype, shape, [...bytes]])).toEqual([
      ['y', 'UINT8', [1, 2], [1, 2]],
      ['n', 'UINT8', [0], []],
      ['z', 'INT16', [1], [3, 4]],
    ]);
  });

  it('reads JSON that came before with the tensors of its own answer', () => {
    const known = new KnownHeaders();
    const header = Buffer.from(JSON.stringify({ parameters: { a: 1 }, outputs: [Y] }));
    const decodeKnown = (...tensor: readonly number[]) =>
      decodeInferResponse(Buffer.concat([header, Buffer.from(tensor)]), String(header.length), known);
    const first = decodeKnown(1, 2);
    expect(known.find(header, header.length)).toBeDefined();
    const second = decodeKnown(3, 4);
    expect([first, second].map(({ outputs }) => [...outputs[0]!.bytes])).toEqual([
      [1, 2],
      [3, 4],
    ]);
    // Whoever has the one may do with it what it likes.
    expect(second.outputs[0]!.shape).not.toBe(first.outputs[0]!.shape);
    expect(second.parameters).not.toBe(first.parameters);
    expect(() => decodeKnown(3)).toThrow("output 'y' has a binary_data_size of 2 bytes, but only 1 bytes follow");
  });

  it('reads JSON that came before but for its id with the id of its own answer', () => {
    const known = new KnownHeaders();
    let found = 0;
    const find = known.find.bind(known);
    known.find = (body, length) => {
      const parsed = find(body, length);
      if (parsed !== undefined) found++;
      return parsed;
    };
    const answer = (id: string, tensor: readonly number[], cache?: KnownHeaders) => {
      // Triton's order: the id is first; the output has a parameter of that name, too, which is no id.
      const output = `{"name":"id","datatype":"UINT8","shape":[2],"parameters":{"id":"1","binary_data_size":2}}`;
      const header = Buffer.from(`{"id":${id},"model_name":"1","model_version":"1","outputs":[${output}]}`);
      return decodeInferResponse(Buffer.concat([header, Buffer.from(tensor)]), String(header.length), cache);
    };
    const ids = ['"1"', '"2"', '""', '"a longer one"', '"1"', String.raw`"\u0031"`, '"é"', 'null', '"2"'];
    for (const [index, id] of ids.entries()) {
      const response = answer(id, [index, 1], known);
      expect(response).toEqual(answer(id, [index, 1]));
      expect([response.id, response.modelName, response.outputs[0]!.name]).toEqual([JSON.parse(id) ?? '', '1', 'id']);
      expect([...response.outputs[0]!.bytes]).toEqual([index, 1]);
    }
    // All but the first of them, and those whose id is written otherwise than it is, or is none.
    expect(found).toBe(5);
  });

  it('reads outputs in JSON, beside binary ones too', () => {
    const json = { outputs: [{ name: 'j', datatype: 'FP32', shape: [2], data: [1, 0.5] }, Y] };
    const { outputs, id, modelName, parameters } = decode(json, [7, 8]);
    expect(new Float32Array(outputs[0]!.bytes.buffer as ArrayBuffer)).toEqual(Float32Array.of(1, 0.5));
    expect([...outputs[1]!.bytes]).toEqual([7, 8]);
    expect({ id, modelName, parameters }).toEqual({ id: '', modelName: '', parameters: undefined });
  });

  it('takes null for what a server has not', () => {
    const nothing = { id: null, model_name: 'M', model_version: null, parameters: null };
    const output = { name: 'j', datatype: 'UINT8', shape: [1], parameters: null, data: [1] };
    const response = decode({ ...nothing, outputs: [output] });
    expect(response).toMatchObject({ id: '', modelName: 'M', modelVersion: '', parameters: undefined });
    expect([...response.outputs[0]!.bytes]).toEqual([1]);
  });

  it('reads strings in JSON', () => {
    const [output] = decode({ outputs: [{ name: 's', datatype: 'BYTES', shape: [1], data: ['é'] }] }).outputs;
    expect([...output!.bytes]).toEqual([2, 0, 0, 0, 0xc3, 0xa9]);
  });

  it.each<[string, () => unknown, string]>([
    ['no JSON', () => decode(''), 'failed to parse the JSON: The document is empty. at 0'],
    ['broken JSON', () => decode('{"outputs":'), 'failed to parse the JSON: Invalid value. at 11'],
    [
      'no outputs',
      () => decode({}),
      "Unable to parse 'outputs': attempt to access non-existing object member 'outputs'",
    ],
    ['a list', () => decode('[]'), "Unable to parse 'outputs'"],
    [
      'an unknown datatype',
      () => decode({ outputs: [{ ...Y, datatype: 'FP8' }] }),
      "output 'y' has unknown datatype 'FP8'",
    ],
    ['a negative dimension', () => decode({ outputs: [{ ...Y, shape: [-1] }] }), "Unable to parse 'shape'"],
    ['no data', () => decode({ outputs: [{ ...Y, parameters: {} }] }), "Unable to parse 'data'"],
    [
      'too few values',
      () => decode({ outputs: [{ ...Y, parameters: {}, data: [1] }] }),
      "Unable to parse 'data': Shape does not match",
    ],
    [
      'too few bytes',
      () => decode({ outputs: [Y] }, [1]),
      "output 'y' has a binary_data_size of 2 bytes, but only 1 bytes follow",
    ],
    ['too many bytes', () => decode({ outputs: [Y] }, [1, 2, 3]), '1 bytes follow that belong to no output'],
    [
      'a length beyond the body',
      () => decode({ outputs: [] }, [], '99'),
      'inference header size should be in range (0, 14), got: 99',
    ],
    [
      'a length that is none',
      () => decode({ outputs: [] }, [], 'x'),
      'Unable to parse Inference-Header-Content-Length, got: x',
    ],
    ['an id that is no string', () => decode({ id: 5, outputs: [] }), "Unable to parse 'id'"],
  ])('refuses %s with INTERNAL', (_, run, message) => {
    expect(run).toThrow(`malformed response of the server: ${message}`);
    expect(run).toThrow(expect.objectContaining({ code: 'INTERNAL' }));
  });
});
