import { describe, expect, it } from 'vitest';

import { Tensor } from '../tensor/tensor.js';
import type { InferenceRequest } from './callable.js';
import { HostedRequest, inputsInOrder, isInferenceRequest, rowsOf, withInputs } from './inference-request.js';

const inputs = { a: Tensor.from('float32', [[1], [2]]), b: Tensor.from('int32', [[3], [4]]) };

describe('HostedRequest', () => {
  it('has inputs, parameters and an id', () => {
    const request = new HostedRequest(inputs, 2, '7', { temperature: 0.5 });
    expect(request).toMatchObject({ inputs, id: '7', parameters: { temperature: 0.5 } });
  });

  it('has no parameters rather than undefined ones, and nobody can add any for others', () => {
    const request = new HostedRequest(inputs, 2, '', undefined);
    expect(request.parameters).toEqual({});
    expect(Object.isFrozen(request.parameters)).toBe(true);
  });

  it('aborts the signal that it gave', () => {
    const request = new HostedRequest(inputs, 2, '', undefined);
    const { signal } = request;
    expect(request.signal).toBe(signal);
    expect([signal.aborted, request.aborted]).toEqual([false, false]);
    request.abort();
    expect([signal.aborted, request.aborted]).toEqual([true, true]);
  });

  it('gives an aborted signal to who asks late', () => {
    const request = new HostedRequest(inputs, 2, '', undefined);
    request.abort();
    expect(request.signal.aborted).toBe(true);
  });
});

describe('withInputs', () => {
  const original = new HostedRequest(inputs, 2, '7', { temperature: 0.5 });
  const changed = withInputs(original, { c: inputs.a });

  it('changes the inputs and leaves parameters, id and rows', () => {
    expect(changed).toMatchObject({ inputs: { c: inputs.a }, id: '7', parameters: { temperature: 0.5 } });
    expect(rowsOf(changed as InferenceRequest)).toBe(2);
    expect(rowsOf(withInputs(new HostedRequest({}, 3, '', undefined), {}) as InferenceRequest)).toBe(3);
    expect(Object.keys(original.inputs)).toEqual(['a', 'b']);
  });

  it('is a request like any other, with the signal of the original', () => {
    expect(isInferenceRequest(changed)).toBe(true);
    expect(changed.signal).toBe(original.signal);
    original.abort();
    expect(changed.signal.aborted).toBe(true);
  });
});

describe('isInferenceRequest', () => {
  it('knows requests, those of another copy of the package too', () => {
    const foreign = Object.defineProperty({}, Symbol.for('tstriton.InferenceRequest'), { value: true });
    expect(isInferenceRequest(new HostedRequest(inputs, 2, '', undefined))).toBe(true);
    expect(isInferenceRequest(foreign)).toBe(true);
  });

  it.each([[null], [undefined], [{}], [{ inputs: {}, parameters: {}, id: '' }], ['request']])(
    'is false for %o',
    (value) => {
      expect(isInferenceRequest(value)).toBe(false);
    },
  );
});

describe('inputsInOrder', () => {
  it('gives the tensors as declared, with places for those that were not sent', () => {
    const request = new HostedRequest(inputs, 2, '', undefined);
    const specs = ['b', 'c', 'a'].map(
      (name) => ({ name, dtype: 'bool', datatype: 'BOOL', shape: [], optional: true }) as const,
    );
    expect(inputsInOrder(request, specs)).toEqual([inputs.b, undefined, inputs.a]);
  });
});

describe('rowsOf', () => {
  it('is what the host counted', () => {
    expect(rowsOf(new HostedRequest({}, 5, '', undefined))).toBe(5);
  });

  it('is read from the tensors of a request that somebody else made', () => {
    const request = {
      inputs,
      parameters: {},
      id: '',
      signal: new AbortController().signal,
    } as unknown as InferenceRequest;
    expect(rowsOf(request)).toBe(2);
    expect(rowsOf({ ...request, inputs: {} } as InferenceRequest)).toBe(1);
  });
});
