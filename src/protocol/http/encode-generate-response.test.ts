import { describe, expect, it } from 'vitest';
import { finishPaced, type PacedWork } from '../../pacing/paced-work.js';

import { TritonError } from '../../errors.js';
import type { InferTensor, ModelInferResponse } from '../../model/exchange.js';
import { encodeRaw } from '../../tensor/raw.js';
import { encodeErrorEvent, encodeGenerateEvent, encodeGenerateResponse } from './encode-generate-response.js';

function textOf(work: PacedWork<readonly Buffer[]>): string {
  return Buffer.concat(finishPaced(work)).toString();
}

const TEXT: InferTensor = {
  name: 'text_output',
  datatype: 'BYTES',
  shape: [1, 1],
  bytes: encodeRaw('string', ['HÉ\n']),
};

function response(outputs: readonly InferTensor[], rest: Partial<ModelInferResponse> = {}): ModelInferResponse {
  return { modelName: 'm', modelVersion: '3', id: '', parameters: undefined, outputs, ...rest };
}

function floats(name: string, ...values: number[]): InferTensor {
  return { name, datatype: 'FP32', shape: [1, values.length], bytes: encodeRaw('float32', Float32Array.from(values)) };
}

describe('a generate response', () => {
  it('is flat, a tensor of one element bare', () => {
    expect(textOf(encodeGenerateResponse(response([TEXT])))).toBe(
      '{"model_name":"m","model_version":"3","text_output":"HÉ\\n"}',
    );
  });

  it('has its members in alphabetical order', () => {
    const outputs = [floats('sub', -1), floats('add', 1, 2.5), floats('none')];
    const parameters = { zeta: true, count: 3, share: 0.5, name: 'x', big: 9007199254740993n };
    expect(textOf(encodeGenerateResponse(response(outputs, { id: '7', parameters })))).toBe(
      '{"add":[1.0,2.5],"big":9007199254740993,"count":3,"id":"7","model_name":"m","model_version":"3","name":"x","none":[],"share":0.5,"sub":-1.0,"zeta":true}',
    );
  });

  it('gives an output precedence over a parameter of its name', () => {
    expect(textOf(encodeGenerateResponse(response([floats('a', 1)], { parameters: { a: 2 } })))).toBe(
      '{"a":1.0,"model_name":"m","model_version":"3"}',
    );
  });

  it('refuses what has no JSON form, and the next one is whole again', () => {
    const half: InferTensor = { name: 'h', datatype: 'FP16', shape: [1], bytes: new Uint8Array(2) };
    expect(() => textOf(encodeGenerateEvent(response([half])))).toThrow(
      'sending FP16 data via JSON is not supported. Please use the binary data format for output',
    );
    expect(textOf(encodeGenerateResponse(response([])))).toBe('{"model_name":"m","model_version":"3"}');
  });
});

describe('an event', () => {
  it('is the response on one line and an empty one after it', () => {
    expect(textOf(encodeGenerateEvent(response([TEXT])))).toBe(
      'data: {"model_name":"m","model_version":"3","text_output":"HÉ\\n"}\n\n',
    );
  });

  it('may tell of a failure', () => {
    expect(encodeErrorEvent(new TritonError('INTERNAL', 'no "luck"\n')).toString()).toBe(
      'data: {"error":"no \\"luck\\"\\n"}\n\n',
    );
  });
});
