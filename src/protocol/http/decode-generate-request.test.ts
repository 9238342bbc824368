import { describe, expect, it } from 'vitest';
import { finishPaced } from '../../pacing/paced-work.js';

import { TritonError } from '../../errors.js';
import { REQUEST_LIMITS } from '../../model/request-limits.js';
import type { CompleteModelConfig, CompleteTensorSpec } from '../../model/complete-model-config.js';
import { DTYPES, type Dtype } from '../../tensor/dtype.js';
import { decodeRaw } from '../../tensor/raw.js';
import { NO_SHARED_MEMORY } from '../../../test/support/no-shared-memory.js';
import { decodeGenerateRequest } from './decode-generate-request.js';

function modelOf(
  inputs: Readonly<Record<string, readonly [Dtype, readonly number[]]>>,
  maxBatchSize = 8,
): CompleteModelConfig {
  const specs = Object.entries(inputs).map(([name, [dtype, shape]]): CompleteTensorSpec => ({
    name,
    dtype,
    datatype: DTYPES[dtype].datatype,
    shape,
    optional: false,
  }));
  return {
    name: 'model',
    version: 1,
    inputs: specs,
    outputs: [],
    maxBatchSize,
    dynamicBatching: undefined,
    instanceCount: 1,
    concurrency: 1,
    decoupled: false,
    responseCache: false,
    strict: false,
  };
}

const TEXT = modelOf({ text_input: ['string', [1]] });
const NUMBERS = modelOf({ x: ['float32', [-1]], n: ['int64', [-1]], b: ['bool', [-1]] });

function decode(config: CompleteModelConfig, json: string, maxInputSize = 1_000_000) {
  const form = finishPaced(decodeGenerateRequest({ modelVersion: '', body: Buffer.from(json), maxInputSize }));
  return finishPaced(form.complete(config, NO_SHARED_MEMORY)).request;
}

function inputOf(config: CompleteModelConfig, json: string) {
  const request = decode(config, json);
  const input = request.inputs[0]!;
  const spec = config.inputs.find(({ name }) => name === input.name)!;
  return { shape: input.shape, data: [...(decodeRaw(spec.dtype, input.bytes) as Iterable<unknown>)] };
}

function refusal(config: CompleteModelConfig, json: string, maxInputSize?: number): string {
  try {
    decode(config, json, maxInputSize);
    return 'accepted';
  } catch (error) {
    const { code, message } = TritonError.from(error);
    return code === 'INVALID_ARG' ? message : `${code}: ${message}`;
  }
}

describe('a generate request', () => {
  it('maps inputs to tensors and everything else to parameters', () => {
    const request = decode(
      TEXT,
      '{"text_input":"hé \\u0000","id":"42","i":1,"f":1.5,"whole":2.0,"big":9007199254740993,"s":"t","y":true,"nan":NaN,"__proto__":"p","parameters":{"p":2,"i":3,"priority":1,"triton_x":false}}',
    );
    expect(request).toMatchObject({ modelName: 'model', modelVersion: '', id: '42', outputs: [], priority: 0 });
    expect(request.inputs).toEqual([
      { name: 'text_input', datatype: 'BYTES', shape: [1, 1], bytes: Buffer.from('\x05\0\0\0h\xc3\xa9 \0', 'latin1') },
    ]);
    expect(Object.entries(request.parameters!)).toEqual([
      ['id', '42'],
      ['i', 1],
      ['f', 1.5],
      ['whole', 2],
      ['big', 9007199254740993n],
      ['s', 't'],
      ['y', true],
      ['nan', NaN],
      ['__proto__', 'p'],
      ['p', 2],
      ['priority', 1],
      ['triton_x', false],
    ]);
  });

  it('may name inputs inside parameters, and nothing at all', () => {
    expect(inputOf(TEXT, '{"parameters":{"text_input":"inner"}}')).toEqual({ shape: [1, 1], data: ['inner'] });
    expect(decode(TEXT, '{}')).toMatchObject({ inputs: [], parameters: undefined, id: '' });
  });

  it('takes an integer beyond 64 bits as a double', () => {
    expect(decode(TEXT, '{"a":9223372036854775808}').parameters).toEqual({ a: 9223372036854775808 });
  });

  it.each([
    ['{"x":1}', [1, 1], [1]],
    ['{"x":2.5}', [1, 1], [2.5]],
    ['{"x":-0.0}', [1, 1], [-0]],
    ['{"x":-0}', [1, 1], [0]],
    ['{"x":NaN}', [1, 1], [NaN]],
    ['{"x":-Infinity}', [1, 1], [-Infinity]],
    ['{"x":1e30}', [1, 1], [Math.fround(1e30)]],
    ['{"x":[1,2.5]}', [1, 2], [1, 2.5]],
    ['{"x":[]}', [1, 0], []],
    ['{"n":9007199254740993}', [1, 1], [9007199254740993n]],
    ['{"n":[1,-2]}', [1, 2], [1n, -2n]],
    ['{"b":true}', [1, 1], [1]],
  ])('reads the numbers of %s', (json, shape, data) => {
    expect(inputOf(NUMBERS, json)).toEqual({ shape, data });
  });

  it.each([
    ['{"text_input":["a","b"]}', [2, 1], ['a', 'b']],
    ['{"text_input":[["a"]]}', [1, 1], ['a']],
    ['{"text_input":[]}', [0, 1], []],
    ['{"text_input":"\\"\\\\"}', [1, 1], ['"\\']],
  ])('reads the strings of %s', (json, shape, data) => {
    expect(inputOf(TEXT, json)).toEqual({ shape, data });
  });

  it.each([
    [[2, -1], 0, 4, [2, 2]],
    [[-1, -1], 0, 4, [1, 4]],
    [[-1, 3, -1], 0, 6, [1, 3, 2]],
    [[5], 8, 10, [2, 5]],
    [[2, 2], 0, 4, [2, 2]],
  ])('fits dims %j (largest batch %d) to %d values', (dims, maxBatchSize, count, shape) => {
    const config = modelOf({ x: ['float32', dims] }, maxBatchSize);
    expect(inputOf(config, JSON.stringify({ x: Array(count).fill(1) })).shape).toEqual(shape);
  });

  it.each([
    [[2, -1], 0, 1],
    [[5], 8, 6],
    [[2], 0, 4],
    [[2], 0, 0],
  ])('refuses for dims %j (largest batch %d) %d values', (dims, maxBatchSize, count) => {
    const config = modelOf({ x: ['float32', dims] }, maxBatchSize);
    expect(refusal(config, JSON.stringify({ x: Array(count).fill(1) }))).toBe(
      "The schema can not convert input 'x' to tensor with proper shape",
    );
  });

  const notSigned = "Unable to parse 'data': attempt to access JSON non-signed-integer as signed-integer";
  const notNumber = "Unable to parse 'data': attempt to access JSON non-number as double";
  const notString = 'Unable to parse JSON bytes array: attempt to access JSON non-string as string';
  const invalidType = (name: string) =>
    `parameter '${name}' has invalid type. It should be either 'int', 'bool', or 'string'.`;
  const syntax = (text: string) => `failed to parse the request JSON buffer: ${text}`;
  it.each([
    [NUMBERS, '{"n":"2"}', notSigned],
    [NUMBERS, '{"n":2.0}', notSigned],
    [NUMBERS, '{"n":2.5}', notSigned],
    [NUMBERS, '{"n":1e30}', notSigned],
    [NUMBERS, '{"n":true}', notSigned],
    [NUMBERS, '{"n":{}}', notSigned],
    [NUMBERS, '{"x":"1"}', notNumber],
    [NUMBERS, '{"x":true}', notNumber],
    [NUMBERS, '{"x":null}', notNumber],
    [NUMBERS, '{"b":1}', "Unable to parse 'data': attempt to access JSON non-boolean as boolean"],
    [NUMBERS, '{"x":[[1,2]]}', "Unable to parse 'data': Shape does not match true shape of 'data' field"],
    [TEXT, '{"text_input":1}', notString],
    [TEXT, '{"text_input":null}', notString],
    [TEXT, '{"text_input":{"a":1}}', notString],
    [TEXT, '{"text_input":[{"a":1}]}', notString],
    [TEXT, '{"text_input":true}', notString],
    [TEXT, '{"stop":["x"]}', invalidType('stop')],
    [TEXT, '{"stop":null}', invalidType('stop')],
    [TEXT, '{"o":{"k":1}}', invalidType('o')],
    [TEXT, '{"parameters":{"stop":["x"]}}', `Converting keyword: 'parameters': ${invalidType('stop')}`],
    [TEXT, '{"parameters":{"parameters":{}}}', `Converting keyword: 'parameters': ${invalidType('parameters')}`],
    [
      TEXT,
      '{"parameters":[]}',
      "Expected JSON object for keyword: 'parameters': attempt to access JSON non-object as object",
    ],
    [TEXT, '{"id":42}', "Unable to parse 'id': attempt to access JSON non-string as string"],
    [
      TEXT,
      '{"text_input":"a","text_input":"b"}',
      "[request id: <id_unknown>] input 'text_input' already exists in request",
    ],
    [
      TEXT,
      '{"text_input":"a","parameters":{"text_input":"b"},"id":"7"}',
      "Converting keyword: 'parameters': [request id: 7] input 'text_input' already exists in request",
    ],
    [
      modelOf({ parameters: ['float32', [1]] }),
      '{"parameters":{}}',
      "Keyword 'parameters' for nested schema also given as input tensor name",
    ],
    [
      modelOf({ x: ['float16', [-1]] }),
      '{"x":1}',
      'receiving FP16 data via JSON is not supported. Please use the binary data format for input x',
    ],
    [TEXT, '[]', 'attempt to get members for non-object'],
    [TEXT, '"x"', 'attempt to get members for non-object'],
    [TEXT, '', syntax('The document is empty. at 0')],
    [TEXT, '{', syntax('Missing a name for object member. at 1')],
    [TEXT, '{"text_input":"a"}x', syntax('The document root must not be followed by other values. at 18')],
  ])('is refused when it is (%#) %3$s', (config, json, message) => {
    // What was expected stands behind Triton's words.
    expect(refusal(config, json).split(': expected ')[0]).toBe(message);
  });

  const MATRIX = modelOf({ m: ['int32', [-1, 2]] });
  it.each<[CompleteModelConfig, string, readonly number[], readonly number[]]>([
    [MATRIX, '{"m":[[1,2],[3,4],[5,6]]}', [1, 3, 2], [1, 2, 3, 4, 5, 6]],
    [MATRIX, '{"m":[[[1,2]],[[3,4]]]}', [2, 1, 2], [1, 2, 3, 4]],
    [MATRIX, '{"m":[1,2,3,4]}', [1, 2, 2], [1, 2, 3, 4]],
    [modelOf({ m: ['int32', [-1, 2]] }, 0), '{"m": [ [1, 2],[3 ,4]]}', [2, 2], [1, 2, 3, 4]],
    [modelOf({ m: ['int32', [-1, -1]] }, 0), '{"m":[[1],[2],[3]]}', [3, 1], [1, 2, 3]],
    // The core refuses dimensions that are not the model's.
    [modelOf({ m: ['int32', [2, 2]] }, 0), '{"m":[[1],[2]]}', [2, 1], [1, 2]],
  ])('takes lists that are nested as the shape says (%#)', (config, json, shape, data) => {
    expect(inputOf(config, json)).toEqual({ shape, data });
  });

  it('is refused with lists of different lengths', () => {
    expect(refusal(MATRIX, '{"m":[[1,2],[3]]}')).toBe(
      "input 'm' must be nested lists of 2 levels, as its shape [-1,2] says, got lists of 2 and of 1 elements at level 2",
    );
  });

  it('has no more members than a request may have parameters', () => {
    const { parameters } = REQUEST_LIMITS;
    const members = (count: number) => `{${Array.from({ length: count }, (_, i) => `"p${i}":1`).join()}}`;
    const refused = `expected a request with at most ${parameters} members, got more`;
    expect(refusal(TEXT, members(parameters))).toBe('accepted');
    expect(refusal(TEXT, members(parameters + 1))).toBe(refused);
  });

  it('is refused when its body or its tensors are too large', () => {
    expect(refusal(TEXT, '{"text_input":"abc"}', 10)).toContain('request JSON size of 20 bytes exceeds the maximum');
    const both = '{"x":[1,2,3,4,5],"n":[1,2,3]}';
    expect(decode(NUMBERS, both, 44).inputs).toHaveLength(2);
    expect(refusal(NUMBERS, both, 43)).toBe(
      "request size of 44 bytes with input 'n' of size 24 bytes exceeds the maximum allowed input size of 43. Use --http-max-input-size to increase the limit.",
    );
    const empty = `{"text_input":[${Array(20).fill('""').join()}]}`;
    expect(refusal(TEXT, empty, 79)).toContain("request size of 80 bytes with input 'text_input' of size 80 bytes");
  });
});
