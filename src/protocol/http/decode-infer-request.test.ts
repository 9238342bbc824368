import { describe, expect, it } from 'vitest';
import { finishPaced, PAUSE_BYTES, type PacedWork } from '../../pacing/paced-work.js';
import { REQUEST_LIMITS } from '../../model/request-limits.js';

import { TritonError } from '../../errors.js';
import type { CompleteModelConfig, CompleteTensorSpec } from '../../model/complete-model-config.js';
import type { SharedInput, SharedMemoryAccess, SharedMemoryReference } from '../../model/shared-memory.js';
import { isBinaryOutput } from './encode-infer-response.js';
import { decodeInferRequest, type CompleteInferRequest, type InferBody } from './decode-infer-request.js';

const spec = (
  name: string,
  datatype: CompleteTensorSpec['datatype'],
  shape: readonly number[],
): CompleteTensorSpec => ({
  name,
  dtype: datatype === 'BYTES' ? 'bytes' : 'float32',
  datatype,
  shape,
  optional: false,
});

const modelWith = (inputs: readonly CompleteTensorSpec[], maxBatchSize = 8): CompleteModelConfig => ({
  name: 'm',
  version: 1,
  inputs,
  outputs: [],
  maxBatchSize,
  dynamicBatching: undefined,
  instanceCount: 1,
  concurrency: 1,
  decoupled: false,
  responseCache: false,
  strict: false,
});

const MODEL = modelWith([spec('x', 'FP32', [-1])]);

/** Regions of one name each; what is asked of them is kept. */
class Regions implements SharedMemoryAccess {
  readonly inputs: unknown[] = [];
  readonly outputs: unknown[] = [];

  // eslint-disable-next-line require-yield
  *input(reference: SharedMemoryReference): PacedWork<SharedInput> {
    this.#check(reference);
    this.inputs.push(reference);
    return { bytes: Buffer.from('shared'), memory: undefined };
  }

  output(name: string, reference: SharedMemoryReference): void {
    this.#check(reference);
    this.outputs.push([name, reference]);
  }

  #check({ region }: SharedMemoryReference): void {
    if (region !== 'r') throw new TritonError('NOT_FOUND', `Unable to find shared memory region: '${region}'`);
  }
}

interface Given {
  readonly binary?: Uint8Array;
  readonly headerLength?: string;
  readonly config?: CompleteModelConfig;
  readonly maxInputSize?: number;
  readonly sharedMemory?: SharedMemoryAccess;
}

interface Whole extends InferBody {
  readonly config: CompleteModelConfig;
  readonly sharedMemory: SharedMemoryAccess;
}

function* decodeWhole({ config, sharedMemory, ...body }: Whole): PacedWork<CompleteInferRequest> {
  const form = yield* decodeInferRequest(body);
  return yield* form.complete(config, sharedMemory);
}

/** Decodes a request of this JSON, followed by binary data if there is any. */
function decode(
  json: string,
  { binary, headerLength, config = MODEL, maxInputSize = 1000, sharedMemory = new Regions() }: Given = {},
): CompleteInferRequest {
  const text = Buffer.from(json);
  const length = headerLength ?? (binary === undefined ? undefined : String(text.length));
  const body = Buffer.concat([text, binary ?? Buffer.of()]);
  return finishPaced(decodeWhole({ config, modelVersion: '', body, headerLength: length, maxInputSize, sharedMemory }));
}

const refusal = (message: string, code = 'INVALID_ARG') => expect.objectContaining({ code, message });
const X = '{"name":"x","datatype":"FP32","shape":[1,2],"data":[1,2]}';
const withParameters = (parameters: string) => `{"parameters":${parameters},"inputs":[${X}]}`;
const withInput = (input: string) => `{"inputs":[${input}]}`;
const withOutputs = (outputs: string) => `{"inputs":[${X}],"outputs":${outputs}}`;
const BINARY_X = (size: string) =>
  withInput(`{"name":"x","datatype":"FP32","shape":[1,2],"parameters":{"binary_data_size":${size}}}`);

describe('a request', () => {
  it('has its fields from the JSON, wherever they stand', () => {
    const { request, binaryOutputs } = decode(
      `{"outputs":[{"name":"y"},{"name":"z","parameters":{"binary_data":true}}],"inputs":[{"data":[[0.5],[2]],"shape":[2,1],"datatype":"FP32","name":"x"}],` +
        '"parameters":{"priority":2,"timeout":5000,"binary_data_output":true,"a":1,"b":"two","c":true,"d":1.5},"id":"one","ignored":[{}]}',
    );
    expect({ ...request, parameters: { ...request.parameters } }).toEqual({
      modelName: 'm',
      modelVersion: '',
      id: 'one',
      parameters: { a: 1, b: 'two', c: true, d: 1.5 },
      inputs: [{ name: 'x', datatype: 'FP32', shape: [2, 1], bytes: Buffer.from(Float32Array.of(0.5, 2).buffer) }],
      outputs: ['y', 'z'],
      priority: 2,
      timeoutMicroseconds: 5000,
    });
    expect(isBinaryOutput(binaryOutputs, 'y')).toBe(false);
    expect(isBinaryOutput(binaryOutputs, 'z')).toBe(true);
  });

  it('has defaults for what is not given', () => {
    const { request, binaryOutputs } = decode(withInput(X));
    expect(request).toMatchObject({ id: '', parameters: undefined, outputs: [], priority: 0, timeoutMicroseconds: 0 });
    expect(isBinaryOutput(binaryOutputs, 'y')).toBe(false);
  });

  it('without outputs gets all of them, in the form that the request asks for', () => {
    for (const json of [
      '{"inputs":[],"parameters":{"binary_data_output":true}}',
      '{"inputs":[],"outputs":[],"parameters":{"binary_data_output":true}}',
    ]) {
      const { request, binaryOutputs } = decode(json);
      expect(request.outputs).toEqual([]);
      expect(isBinaryOutput(binaryOutputs, 'y')).toBe(true);
    }
  });

  it('names its outputs as often as they are listed, which the core judges', () => {
    expect(decode(withOutputs('[{"name":"y"},{"name":"z"},{"name":"y"}]')).request.outputs).toEqual(['y', 'z', 'y']);
  });

  it('has the first of equal parameters, reserved ones too', () => {
    const { request } = decode(withParameters('{"a":1,"priority":3,"a":2,"priority":4,"timeout":5,"timeout":"x"}'));
    expect(request).toMatchObject({ parameters: { a: 1 }, priority: 3, timeoutMicroseconds: 5 });
  });

  it('may have anything in members that nobody reads', () => {
    const junk = '{"a":[{"b":[{}]}],"c":"\\u0000"}';
    const text = `{"x":${junk},"inputs":[{"name":"x","y":${junk},"datatype":"FP32","shape":[1,2],"data":[1,2]}],"id":"7"}`;
    expect(decode(text).request).toMatchObject({ id: '7', inputs: [{ name: 'x', shape: [1, 2] }] });
    expect(() => decode(text.replace('[{}]', '[{]'))).toThrow('Missing a name for object member.');
  });

  it('keeps integers of parameters exact within int64, and as the nearest double beyond', () => {
    const { parameters } = decode(
      withParameters('{"a":9223372036854775807,"b":-9223372036854775808,"c":18446744073709551615,"d":7}'),
    ).request;
    expect({ ...parameters }).toEqual({ a: 9223372036854775807n, b: -9223372036854775808n, c: 2 ** 64, d: 7 });
  });

  it('may have parameters of any name, and the first of equal ones counts', () => {
    const { parameters } = decode(withParameters('{"__proto__":1,"constructor":2,"a":3,"a":4,"":5}')).request;
    expect(Object.entries(parameters!)).toEqual([
      ['__proto__', 1],
      ['constructor', 2],
      ['a', 3],
      ['', 5],
    ]);
  });

  it('may belong to a sequence', () => {
    const given = (parameters: string) => decode(withParameters(parameters)).request;
    const first = given('{"sequence_id":"s","sequence_start":true,"sequence_end":false}');
    expect(first.parameters).toBeUndefined();
    expect(first.sequence).toEqual({ id: 's', start: true, end: false });
    expect(given('{"sequence_id":18446744073709551615}').sequence?.id).toBe(18446744073709551615n);
    expect(given('{"sequence_end":true}').sequence).toEqual({ id: 0, start: false, end: true });
    for (const none of ['{}', '{"sequence_id":0}', '{"sequence_id":"","sequence_start":false}']) {
      expect(given(none).sequence).toBeUndefined();
    }
  });

  it('of zero elements has no data, whatever is given', () => {
    const input = decode(withInput('{"name":"x","datatype":"FP32","shape":[1,0],"data":["no number"]}')).request
      .inputs[0]!;
    expect(input).toMatchObject({ shape: [1, 0], bytes: new Uint8Array(0) });
  });
});

describe('binary inputs', () => {
  it('are views of the body, in the order of the inputs, JSON ones between them', () => {
    const json =
      '{"inputs":[{"name":"a","datatype":"UINT8","shape":[2],"parameters":{"binary_data_size":2}},' +
      '{"name":"b","datatype":"UINT8","shape":[1],"data":[9]},' +
      '{"name":"c","datatype":"FP16","shape":[1],"parameters":{"binary_data_size":2}}]}';
    const { inputs } = decode(json, { binary: Buffer.of(1, 2, 3, 4) }).request;
    expect(inputs.map(({ bytes }) => [...bytes])).toEqual([[1, 2], [9], [3, 4]]);
  });

  it('of no bytes need no header', () => {
    expect(decode(BINARY_X('0')).request.inputs[0]!.bytes.byteLength).toBe(0);
  });

  it('leave an unknown datatype to be compared with the declared one', () => {
    const json = BINARY_X('8').replace('FP32', 'FP128');
    expect(decode(json, { binary: Buffer.alloc(8) }).request.inputs[0]!.datatype).toBe('<invalid>');
  });

  it.each<[string, string, Given, string]>([
    [
      'too few bytes',
      BINARY_X('8'),
      { binary: Buffer.alloc(4) },
      "unexpected size for input 'x', expecting 4 additional bytes for model 'm'",
    ],
    ['no bytes', BINARY_X('8'), {}, "unexpected size for input 'x', expecting 8 additional bytes for model 'm'"],
    ['bytes left over', BINARY_X('4'), { binary: Buffer.alloc(8) }, "unexpected additional input data for model 'm'"],
    [
      'a size beyond 2^53',
      BINARY_X('18446744073709551615'),
      { binary: Buffer.alloc(8) },
      "unexpected size for input 'x', expecting 18446744073709551607 additional bytes for model 'm'",
    ],
    [
      'a size that is no integer',
      BINARY_X('8.0'),
      { binary: Buffer.alloc(8) },
      "Unable to parse 'binary_data_size': attempt to access JSON non-unsigned-integer as unsigned-integer",
    ],
    [
      'a header that cuts the JSON',
      BINARY_X('8'),
      { headerLength: '20' },
      'failed to parse the request JSON buffer: Missing a closing quotation mark in string. at 20',
    ],
    [
      'leftover bytes before wrong outputs',
      withOutputs('1'),
      { binary: Buffer.alloc(1) },
      "unexpected additional input data for model 'm'",
    ],
    [
      'forgotten length header',
      `${BINARY_X('4')}\u0000\u0000\u0000\u0000`,
      {},
      "unexpected size for input 'x', expecting 4 additional bytes for model 'm'",
    ],
  ])('with %s are refused', (_, json, given, reason) => {
    expect(() => decode(json, given)).toThrow(refusal(reason));
  });
});

describe('the header length', () => {
  it.each<[string, string]>([
    ['-1', 'inference header size should be in range (0, 76), got: -1'],
    ['77', 'inference header size should be in range (0, 76), got: 77'],
    ['99999999999999999999', 'inference header size should be in range (0, 76), got: 99999999999999999999'],
    ['abc', 'Unable to parse Inference-Header-Content-Length, got: abc'],
    ['', 'Unable to parse Inference-Header-Content-Length, got: '],
    ['70abc', 'Unable to parse Inference-Header-Content-Length, got: 70abc'],
    ['0x46', 'Unable to parse Inference-Header-Content-Length, got: 0x46'],
    ['76.0', 'Unable to parse Inference-Header-Content-Length, got: 76.0'],
    ['76, 70', 'Unable to parse Inference-Header-Content-Length, got: 76, 70'],
  ])('%j is refused', (headerLength, reason) => {
    const json = withInput(X).padEnd(76);
    expect(() => decode(json, { headerLength })).toThrow(refusal(reason));
  });

  it.each(['76', '076', '76, 76'])('%j is taken', (headerLength) => {
    expect(decode(withInput(X).padEnd(76), { headerLength }).request.inputs).toHaveLength(1);
  });
});

const SOURCES =
  "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', 'shared_memory_region' in 'parameters'.";

it('tells which outputs are to be classified', () => {
  const outputs = (list: string) => decode(withOutputs(list)).classes;
  expect(outputs('[{"name":"y"},{"name":"z","parameters":{"classification":0}}]')).toBeUndefined();
  expect(
    outputs(
      '[{"name":"y","parameters":{"classification":2}},{"name":"z","parameters":{"classification":18446744073709551615}}]',
    ),
  ).toEqual(
    new Map<string, unknown>([
      ['y', 2],
      ['z', 18446744073709551615n],
    ]),
  );
  expect(decode(withInput(X)).classes).toBeUndefined();
});

describe('what is malformed', () => {
  it.each<[string, string]>([
    ['{', 'failed to parse the request JSON buffer: Missing a name for object member. at 1'],
    ['null', "Unable to parse 'inputs': attempt to access non-existing object member 'inputs'"],
    ['{}', "Unable to parse 'inputs': attempt to access non-existing object member 'inputs'"],
    ['{"inputs":{}}', "Unable to parse 'inputs': attempt to access JSON non-array as array"],
    ['{"id":1,"inputs":[]}', "Unable to parse 'id': attempt to access JSON non-string as string"],
    [withInput('1'), `${SOURCES} But no field is set`],
    [withInput('{}'), `${SOURCES} But no field is set`],
    [
      withInput('{"data":[],"parameters":{"binary_data_size":1,"shared_memory_region":"r"}}'),
      `${SOURCES} But set 'data' 'binary_data_size' 'shared_memory_region'`,
    ],
    [withInput('{"data":[1]}'), "Unable to parse 'name': attempt to access non-existing object member 'name'"],
    [withInput('{"data":[1],"name":1}'), "Unable to parse 'name': attempt to access JSON non-string as string"],
    [
      withInput('{"data":[1],"name":"x"}'),
      "Unable to parse 'datatype': attempt to access non-existing object member 'datatype'",
    ],
    [
      withInput('{"data":[1],"name":"x","datatype":"FP32"}'),
      "Unable to parse 'shape': attempt to access non-existing object member 'shape'",
    ],
    [
      withInput('{"data":[1],"name":"x","datatype":"FP32","shape":1}'),
      "Unable to parse 'shape': attempt to access JSON non-array as array",
    ],
    [
      withInput('{"data":[1],"name":"x","datatype":"FP32","shape":[2,-5]}'),
      "Unable to parse 'shape': attempt to access JSON non-unsigned-integer as unsigned-integer: expected integers of at least 0 for the shape of 'x', got -5 at index 1",
    ],
    [
      withInput('{"data":[1],"name":"x","datatype":"FP32","shape":[1.0]}'),
      "Unable to parse 'shape': attempt to access JSON non-unsigned-integer as unsigned-integer: expected integers of at least 0 for the shape of 'x', got 1.0 at index 0",
    ],
    [
      withInput('{"data":1,"name":"x","datatype":"FP32","shape":[1]}'),
      "Unable to parse 'data': attempt to access JSON non-array as array",
    ],
    [
      withInput('{"data":[1],"name":"x","datatype":"fp32","shape":[1]}'),
      `invalid datatype for input x: expected a name of Triton's, such as FP32, INT64 or BYTES, got "fp32"`,
    ],
    [
      withInput('{"data":[1],"name":"x","datatype":"toString","shape":[1]}'),
      `invalid datatype for input x: expected a name of Triton's, such as FP32, INT64 or BYTES, got "toString"`,
    ],
    [
      withInput('{"data":[1],"name":"x","datatype":"INT32","shape":[9223372036854775807,1]}'),
      "byte size overflow for input 'x': element count (9223372036854775807) * data type size (4) exceeds maximum allowed size (9223372036854775807)",
    ],
    [
      withInput('{"data":[1],"name":"x","datatype":"INT32","shape":[9223372036854775807,2]}'),
      "invalid shape for input 'x': shape [9223372036854775807,2] causes total element count to exceed maximum size of 9223372036854775807",
    ],
    [
      withInput('{"data":[1],"name":"x","datatype":"INT32","shape":[18446744073709551615,1]}'),
      "invalid shape for input 'x': shape [18446744073709551615,1] contains one or more invalid dimensions",
    ],
    [
      withInput('{"data":[1],"name":"x","datatype":"FP64","shape":[126]}'),
      "JSON input 'x' has a byte_size (1008 bytes) that exceeds the maximum allowed value of 1000 bytes. Use --http-max-input-size to increase the limit.",
    ],
    [withOutputs('1'), "Unable to parse 'outputs': attempt to access JSON non-array as array"],
    [withOutputs('null'), "Unable to parse 'outputs': attempt to access JSON non-array as array"],
    [withOutputs('["y"]'), "Unable to parse 'name': attempt to access non-existing object member 'name'"],
    [
      withOutputs('[{"name":"y","parameters":{"binary_data":1}}]'),
      "Unable to parse 'binary_data': attempt to access JSON non-boolean as boolean",
    ],
    [
      withOutputs('[{"name":"y","parameters":{"classification":-1}}]'),
      "Unable to set 'classification': attempt to access JSON non-unsigned-integer as unsigned-integer",
    ],
    [
      withOutputs('[{"name":"y","parameters":{"shared_memory_region":"r","classification":1}}]'),
      "Output can't set both 'shared_memory_region' and 'classification'",
    ],
    [
      withOutputs('[{"name":"y","parameters":{"shared_memory_region":"r","binary_data":true}}]'),
      "Output can't set both 'shared_memory_region' and 'binary_data'",
    ],
    [withParameters('[]'), 'failed to get request params.: attempt to get members for non-object'],
    [withParameters('{"a":null}'), "parameter 'a' has invalid type. It should be either 'int', 'bool', or 'string'."],
    [withParameters('{"a":[1]}'), "parameter 'a' has invalid type. It should be either 'int', 'bool', or 'string'."],
    [
      withParameters('{"triton_x":1}'),
      "parameter keys starting with 'triton_' are reserved for Triton usage and should not be specified.",
    ],
    [
      withParameters('{"priority":-1}'),
      "Unable to parse 'priority': attempt to access JSON non-unsigned-integer as unsigned-integer",
    ],
    [
      withParameters('{"timeout":"5"}'),
      "Unable to parse 'timeout': attempt to access JSON non-unsigned-integer as unsigned-integer",
    ],
    [
      withParameters('{"sequence_id":1.5}'),
      "Unable to parse 'sequence_id': attempt to access JSON non-string as string",
    ],
    [
      withParameters('{"sequence_start":1}'),
      "Unable to parse 'sequence_start': attempt to access JSON non-boolean as boolean",
    ],
    [
      withParameters('{"binary_data_output":null}'),
      "Unable to parse 'binary_data_output': attempt to access JSON non-boolean as boolean",
    ],
  ])('%s', (json, reason) => {
    expect(() => decode(json)).toThrow(refusal(reason));
  });

  it.each<[string, string, string]>([
    ['syntax before everything', '{"id":1,"inputs":[}', 'Invalid value.'],
    ['the id before parameters', '{"parameters":1,"id":1,"inputs":[]}', "'id'"],
    ['parameters before inputs', '{"inputs":1,"parameters":1}', 'request params'],
    ['inputs before outputs', '{"outputs":1,"inputs":1}', "'inputs'"],
    ['the first input before the second', '{"inputs":[{"data":[]},{}]}', "'name'"],
  ])('reports %s', (_, json, part) => {
    expect(() => decode(json)).toThrow(part);
  });

  it.each<[string, string, string]>([
    [
      'long sequence ids',
      withParameters(`{"sequence_id":"${'s'.repeat(129)}"}`),
      'string correlation ID cannot be longer than 128 characters',
    ],
  ])('refuses %s as unsupported', (_, json, reason) => {
    expect(() => decode(json)).toThrow(refusal(reason, 'UNSUPPORTED'));
  });

  it('is a number of classes that is none', () => {
    for (const classes of ['-1', '"3"', '1.5', 'true', 'null']) {
      expect(() => decode(withOutputs(`[{"name":"y","parameters":{"classification":${classes}}}]`))).toThrow(
        refusal("Unable to set 'classification': attempt to access JSON non-unsigned-integer as unsigned-integer"),
      );
    }
  });

  it('is no tensor of exactly the largest size', () => {
    const zeros = `[${Array<number>(125).fill(0).join()}]`;
    const largest = withInput(`{"data":${zeros},"name":"x","datatype":"FP64","shape":[125]}`);
    expect(decode(largest, { config: modelWith([spec('x', 'FP64', [-1])]) }).request.inputs[0]!.bytes.byteLength).toBe(
      1000,
    );
  });

  it('is a JSON part that is too large', () => {
    expect(() => decode(withInput(X), { maxInputSize: 69 })).toThrow(
      refusal(
        'request JSON size of 70 bytes exceeds the maximum allowed input size of 69 bytes. Use --http-max-input-size to increase the limit.',
      ),
    );
    expect(decode(withInput(X), { maxInputSize: 70 }).request.inputs).toHaveLength(1);
    expect(
      decode(BINARY_X('500'), { binary: Buffer.alloc(500), maxInputSize: 100 }).request.inputs[0]!.bytes.byteLength,
    ).toBe(500);
  });
});

describe('a raw request', () => {
  const raw = (body: Uint8Array, config: CompleteModelConfig) => decode('', { binary: body, config });

  it.each<[string, CompleteModelConfig, Uint8Array, number[], number[]]>([
    ['with an open dimension', modelWith([spec('x', 'FP32', [-1])]), Buffer.alloc(8), [1, 2], []],
    ['with fixed dimensions', modelWith([spec('x', 'FP32', [2, 2])]), Buffer.alloc(16), [1, 2, 2], []],
    ['without a batch axis', modelWith([spec('x', 'FP32', [2, -1])], 0), Buffer.alloc(16), [2, 2], []],
    ['without any bytes', modelWith([spec('x', 'FP32', [-1])]), Buffer.alloc(0), [1, 0], []],
    ['with too many bytes, which the core refuses', modelWith([spec('x', 'FP32', [-1])]), Buffer.alloc(7), [1, 1], []],
    ['with a dimension of zero', modelWith([spec('x', 'FP32', [0, -1])]), Buffer.alloc(0), [1, 0, 0], []],
    [
      'beside inputs that may be left out',
      modelWith([
        { ...spec('o', 'FP32', [1]), optional: true },
        spec('x', 'FP32', [2]),
        { ...spec('p', 'BYTES', [1]), optional: true },
      ]),
      Buffer.alloc(8),
      [1, 2],
      [],
    ],
    ['of BYTES', modelWith([spec('x', 'BYTES', [1])]), Buffer.from('hi'), [1, 1], [2, 0, 0, 0, 0x68, 0x69]],
  ])('%s', (_, config, body, shape, bytes) => {
    const { request, binaryOutputs } = raw(body, config);
    expect(request).toMatchObject({ id: '', outputs: [], inputs: [{ name: 'x', shape }] });
    expect([...request.inputs[0]!.bytes]).toEqual(bytes.length > 0 ? bytes : [...body]);
    expect(isBinaryOutput(binaryOutputs, 'y')).toBe(true);
  });

  it('says that the body is empty where it cannot be one', () => {
    const two = modelWith([spec('a', 'FP32', [-1]), spec('b', 'FP32', [-1])]);
    expect(() => decode('', { config: two })).toThrow(
      / model configuration: the body is empty, expected JSON with the inputs$/,
    );
  });

  it('is also an empty body without a header', () => {
    expect(decode('').request.inputs[0]!.shape).toEqual([1, 0]);
  });

  it.each<[CompleteModelConfig, string]>([
    [
      modelWith([spec('a', 'FP32', [-1]), spec('b', 'FP32', [-1])]),
      "Raw request must only have 1 input (found 1) to be deduced but got 2 inputs in 'm' model configuration",
    ],
    [
      modelWith([
        { ...spec('a', 'FP32', [-1]), optional: true },
        { ...spec('b', 'FP32', [-1]), optional: true },
      ]),
      "Raw request must only have 1 input (found 1) to be deduced but got 2 inputs in 'm' model configuration",
    ],
    [modelWith([spec('x', 'BYTES', [-1])]), "For BYTE datatype raw input 'x', the model must have input shape [1]"],
    [
      modelWith([spec('x', 'FP32', [-1, -1])]),
      "The shape of the raw input 'x' can not be deduced because there are more than one variable-sized dimension",
    ],
  ])('that leaves its shape open is refused', (config, reason) => {
    expect(() => raw(Buffer.alloc(8), config)).toThrow(refusal(`[request id: <id_unknown>] ${reason}`));
  });

  it('that is too large is refused', () => {
    expect(() => raw(Buffer.alloc(1004), MODEL)).toThrow(
      refusal(
        'Raw input has a byte_size (1004 bytes) that exceeds the maximum allowed value of 1000 bytes. Use --http-max-input-size to increase the limit.',
      ),
    );
  });
});

describe('tensors in shared memory', () => {
  const inputWith = (parameters: string) =>
    withInput(`{"name":"x","datatype":"FP32","shape":[1],"parameters":{${parameters}}}`);

  it('are read where the request says', () => {
    const sharedMemory = new Regions();
    const place = '"shared_memory_region":"r","shared_memory_offset":9223372036854775808,"shared_memory_byte_size":6';
    const { request } = decode(inputWith(place), { sharedMemory });
    expect(request.inputs[0]!.bytes.toString()).toBe('shared');
    expect(sharedMemory.inputs).toEqual([{ region: 'r', offset: 2n ** 63n, byteSize: 6 }]);
  });

  it('are written where the request says, and neither in the JSON nor behind it', () => {
    const sharedMemory = new Regions();
    const { binaryOutputs } = decode(
      withOutputs(
        '[{"name":"y","parameters":{"shared_memory_region":"r","shared_memory_byte_size":8,"binary_data":false}},{"name":"z"}]',
      ),
      { sharedMemory },
    );
    expect(sharedMemory.outputs).toEqual([['y', { region: 'r', offset: 0, byteSize: 8 }]]);
    expect(binaryOutputs.elsewhere).toEqual(new Set(['y']));
  });

  it.each<[string, string, string]>([
    [
      'a region that is not there',
      inputWith('"shared_memory_region":"nope"'),
      "Unable to find shared memory region: 'nope'",
    ],
    [
      'a negative offset',
      inputWith('"shared_memory_region":"r","shared_memory_offset":-4'),
      "Unable to parse 'shared_memory_offset': attempt to access JSON non-unsigned-integer as unsigned-integer",
    ],
    [
      'a size in a string',
      inputWith('"shared_memory_region":"r","shared_memory_byte_size":"8"'),
      "Unable to parse 'shared_memory_byte_size': attempt to access JSON non-unsigned-integer as unsigned-integer",
    ],
    [
      'a region in a number',
      inputWith('"shared_memory_region":1'),
      "Unable to parse 'shared_memory_region': attempt to access JSON non-string as string",
    ],
    [
      'an output in a region that is not there',
      withOutputs('[{"name":"y","parameters":{"shared_memory_region":"nope"}}]'),
      "Unable to find shared memory region: 'nope'",
    ],
  ])('are refused with %s', (_, json, message) => {
    expect(() => decode(json)).toThrow(message);
  });
});

describe('limits', () => {
  const list = (count: number, element: string) => `[${new Array(count).fill(element).join(',')}]`;
  const members = (count: number, value: string) =>
    `{${Array.from({ length: count }, (_, i) => `"p${i}":${value}`).join(',')}}`;
  const shaped = (rank: number) => withInput(`{"name":"x","datatype":"FP32","shape":${list(rank, '1')},"data":[1]}`);

  it.each<[string, (count: number) => string, number, string]>([
    ['inputs', (count) => `{"inputs":${list(count, X)}}`, REQUEST_LIMITS.inputs, 'inputs'],
    ['outputs', (count) => withOutputs(list(count, '{"name":"y"}')), REQUEST_LIMITS.outputs, 'requested outputs'],
    ['dimensions', shaped, REQUEST_LIMITS.rank, 'dimensions of a tensor'],
    ['parameters', (count) => withParameters(members(count, '1')), REQUEST_LIMITS.parameters, 'parameters'],
    [
      'bytes of the id',
      (count) => `{"id":"${'i'.repeat(count)}","inputs":[${X}]}`,
      REQUEST_LIMITS.nameBytes,
      "bytes in 'id'",
    ],
    [
      'bytes of a name',
      (count) => withInput(X.replace('"x"', `"${'n'.repeat(count)}"`)),
      REQUEST_LIMITS.nameBytes,
      "bytes in 'name'",
    ],
    [
      'bytes of parameters',
      (count) => withParameters(`{"p":"${'t'.repeat(count - 1)}"}`),
      REQUEST_LIMITS.parameterBytes,
      'bytes of parameters',
    ],
  ])('there are for %s', (_, text, limit, what) => {
    const maxInputSize = 64 << 20;
    expect(() => decode(text(limit), { maxInputSize })).not.toThrow();
    expect(() => decode(text(limit + 1), { maxInputSize })).toThrow(
      refusal(`expected a request with at most ${limit} ${what}, got more`),
    );
  });
});

describe('a large request', () => {
  const maxInputSize = 64 << 20;
  const pausesOf = (text: string, binary = Buffer.of()) => {
    const body = Buffer.concat([Buffer.from(text), binary]);
    const headerLength = binary.length === 0 ? undefined : String(text.length);
    const work = decodeWhole({
      config: MODEL,
      modelVersion: '',
      body,
      headerLength,
      maxInputSize,
      sharedMemory: new Regions(),
    });
    let pauses = 0;
    let step = work.next();
    for (; step.done !== true; step = work.next()) pauses++;
    return { pauses, request: step.value.request };
  };
  const numbers = (count: number) =>
    withInput(`{"name":"x","datatype":"FP32","shape":[1,${count}],"data":[${new Array(count).fill('0.25').join()}]}`);

  it('is read in proportion to its bytes, with pauses', () => {
    const one = pausesOf(numbers(400_000));
    const four = pausesOf(numbers(1_600_000));
    // Once to check the text, once to read the numbers.
    expect(one.pauses).toBe(2 * Math.floor(2_000_000 / PAUSE_BYTES));
    expect(four.pauses / one.pauses).toBeCloseTo(4, 0);
    expect(new Float32Array(four.request.inputs[0]!.bytes.slice().buffer).every((value) => value === 0.25)).toBe(true);
    expect(pausesOf(numbers(1000)).pauses).toBe(0);
  });

  it('pauses also when it is many small inputs, or one long string', () => {
    const some = Array.from({ length: 4000 }, (_, i) => X.replace('"x"', `"x${i}"`)).join();
    expect(pausesOf(`{"inputs":[${some}]}`).pauses).toBeGreaterThanOrEqual(3);
    const escaped = `{"name":"x","datatype":"BYTES","shape":[1,1],"data":["${String.raw`\u00e9é\n`.repeat(100_000)}"]}`;
    const { pauses, request } = pausesOf(withInput(escaped));
    expect(pauses).toBeGreaterThanOrEqual(2 * Math.floor(escaped.length / PAUSE_BYTES));
    expect(Buffer.from(request.inputs[0]!.bytes).subarray(4).toString()).toBe('éé\n'.repeat(100_000));
  });

  it('says which memory belongs to its inputs alone', () => {
    expect(pausesOf(numbers(1000)).request.memory).toBeUndefined();
    const { inputs, memory } = pausesOf(numbers(400_000)).request;
    expect(memory).toEqual([inputs[0]!.bytes.buffer]);
    const binary = pausesOf(
      withInput('{"name":"x","datatype":"UINT8","shape":[1,2000000],"parameters":{"binary_data_size":2000000}}'),
      Buffer.alloc(2_000_000),
    ).request;
    expect(binary.memory).toEqual([binary.inputs[0]!.bytes.buffer]);
  });
});
