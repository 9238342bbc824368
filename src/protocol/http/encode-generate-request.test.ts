import { describe, expect, it } from 'vitest';

import type { ModelInferRequest } from '../../model/exchange.js';
import type { ClassifiedRequest } from '../classified-request.js';
import type { ModelSignature } from '../model-signature.js';
import { encodeGenerateRequest, generatedShape } from './encode-generate-request.js';

const ELSEWHERE = 'generate_stream carries no such thing, a gRPC stream does';

function modelOf(inputs: readonly { name: string; datatype: string; shape: readonly number[] }[], maxBatchSize = 0) {
  return { name: 'm', inputs, outputs: [], maxBatchSize, decoupled: true } as unknown as ModelSignature;
}

const X = { name: 'x', datatype: 'INT32', shape: [-1] };

function int32(name: string, shape: readonly number[]): ModelInferRequest['inputs'][number] {
  const count = shape.reduce((product, dim) => product * dim, 1);
  return {
    name,
    datatype: 'INT32',
    shape,
    bytes: new Uint8Array(Int32Array.from({ length: count }, (_, i) => i).buffer),
  };
}

function requestOf(more: Partial<ClassifiedRequest> = {}): ClassifiedRequest {
  return {
    modelName: 'm',
    modelVersion: '',
    id: '7',
    parameters: undefined,
    priority: 0,
    timeoutMicroseconds: 0,
    inputs: [int32('x', [3])],
    outputs: [],
    ...more,
  };
}

function encode(request: ClassifiedRequest, model = modelOf([X])): unknown {
  return JSON.parse(Buffer.concat(encodeGenerateRequest(request, model)).toString());
}

describe('encodeGenerateRequest', () => {
  it('has inputs as flat lists by their names, and parameters beside them', () => {
    const inputs = [int32('x', [2, 2]), int32('y', [1])];
    const model = modelOf([
      { ...X, shape: [2, -1] },
      { ...X, name: 'y', shape: [1] },
    ]);
    expect(
      encode(requestOf({ inputs, parameters: { temperature: 0.5, stop: true, seed: 3n, who: 'me' } }), model),
    ).toEqual({
      id: '7',
      x: [0, 1, 2, 3],
      y: [0],
      parameters: { temperature: 0.5, stop: true, seed: 3, who: 'me' },
    });
  });

  it('has parameters beside the inputs where an input is called parameters', () => {
    const model = modelOf([{ ...X, name: 'parameters' }]);
    const inputs = [int32('parameters', [2])];
    expect(encode(requestOf({ inputs, parameters: { seed: 3n } }), model)).toEqual({
      id: '7',
      parameters: [0, 1],
      seed: 3,
    });
    expect(() => encode(requestOf({ inputs, parameters: { id: 'x' } }), model)).toThrow(
      expect.objectContaining({
        code: 'UNSUPPORTED',
        message: `parameter 'id' beside an input 'parameters' of model 'm': ${ELSEWHERE}`,
      }),
    );
    expect(encode(requestOf({ parameters: { id: 'x' } }))).toEqual({ id: '7', x: [0, 1, 2], parameters: { id: 'x' } });
  });

  it('refuses parameters that are called as an input', () => {
    expect(() => encode(requestOf({ parameters: { y: 1n, x: 2n } }))).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARG',
        message: `parameter 'x' is called as an input of model 'm': ${ELSEWHERE}`,
      }),
    );
  });

  it('has no parameters where there are none', () => {
    expect(encode(requestOf({ parameters: {} }))).toEqual({ id: '7', x: [0, 1, 2] });
  });

  it.each<[string, Partial<ClassifiedRequest>, string]>([
    ['a priority', { priority: 2 }, 'priority'],
    ['a timeout', { timeoutMicroseconds: 5 }, 'serverTimeoutMicroseconds'],
    ['a sequence', { sequence: { id: 1, start: true, end: false } }, 'sequence'],
    ['classes', { classes: new Map([['y', 1]]) }, 'classes'],
  ])('refuses %s, which the endpoint cannot say', (_, more, name) => {
    expect(() => encode(requestOf(more))).toThrow(
      expect.objectContaining({
        code: 'UNSUPPORTED',
        message: `${name} of a request to decoupled model 'm': ${ELSEWHERE}`,
      }),
    );
  });

  it('takes a priority and a timeout of 0 for none', () => {
    expect(encode(requestOf({ priority: 0, timeoutMicroseconds: 0 }))).toEqual({ id: '7', x: [0, 1, 2] });
  });

  it("refuses models with an input 'id', which the server takes for the request's", () => {
    const model = modelOf([{ ...X, name: 'id' }]);
    expect(() => encode(requestOf({ inputs: [int32('id', [1])] }), model)).toThrow(
      expect.objectContaining({ code: 'UNSUPPORTED', message: `input 'id' of model 'm': ${ELSEWHERE}` }),
    );
  });

  it('refuses 16-bit floats', () => {
    const input = { name: 'x', datatype: 'FP16', shape: [1], bytes: new Uint8Array(2) } as const;
    expect(() => encode(requestOf({ inputs: [input] }))).toThrow(
      expect.objectContaining({ code: 'UNSUPPORTED', message: `input 'x' of model 'm' is FP16: ${ELSEWHERE}` }),
    );
  });

  it.each([
    ['another shape', [-1, -1], [2, 2], '[1,4]'],
    ['none at all', [3], [4], 'nothing'],
    ['none, as elements are left over', [2, -1], [3], 'nothing'],
  ])('refuses a tensor that the server would give %s', (_, declared, shape, as) => {
    const text = `[${shape.join(',')}]`;
    expect(() => encode(requestOf({ inputs: [int32('x', shape)] }), modelOf([{ ...X, shape: declared }]))).toThrow(
      expect.objectContaining({
        code: 'UNSUPPORTED',
        message: `input 'x' of model 'm' has shape ${text}, which the server would take for ${as}: ${ELSEWHERE}`,
      }),
    );
  });
});

describe('generatedShape', () => {
  it.each([
    [[-1], 0, 3, [3]],
    [[-1], 0, 0, [0]],
    [[3], 0, 3, [3]],
    [[3], 0, 4, undefined],
    [[3], 4, 6, [2, 3]],
    [[3], 4, 7, undefined],
    [[-1], 4, 6, [1, 6]],
    [[2, -1, 3], 0, 12, [2, 2, 3]],
    [[-1, 2, -1], 0, 8, [1, 2, 4]],
    [[], 0, 1, []],
    [[], 0, 2, undefined],
  ])('makes of %j, with maxBatchSize %d and %d elements, %j', (declared, maxBatchSize, count, expected) => {
    expect(generatedShape(declared, maxBatchSize, count)).toEqual(expected);
  });
});
