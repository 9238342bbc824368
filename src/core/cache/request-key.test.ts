import { describe, expect, it } from 'vitest';

import { completeModelConfig } from '../../model/complete-model.js';
import type { InferTensor } from '../../model/exchange.js';
import { finishPaced, PAUSE_BYTES } from '../../pacing/paced-work.js';
import type { Parameters } from '../../model/parameters.js';
import type { RequestSequence } from '../../model/request-sequence.js';
import { requestKey } from './request-key.js';

const CONFIG = completeModelConfig(
  {
    modelName: 'm',
    inputs: { a: { dtype: 'uint8', shape: [-1] }, b: { dtype: 'uint8', shape: [-1], optional: true } },
    outputs: { x: { dtype: 'uint8', shape: [-1] }, y: { dtype: 'uint8', shape: [-1] } },
  },
  1,
);

function tensor(bytes: readonly number[], shape: readonly number[] = [1, bytes.length]): InferTensor {
  return { name: 'a', datatype: 'UINT8', shape, bytes: Uint8Array.from(bytes) };
}

interface Asked {
  readonly inputs?: readonly (InferTensor | undefined)[];
  readonly requestedOutputs?: readonly string[];
  readonly parameters?: Parameters | undefined;
  readonly sequence?: RequestSequence | undefined;
}

function keyOf({ inputs = [tensor([1, 2, 3]), undefined], requestedOutputs = [], parameters, sequence }: Asked = {}) {
  return finishPaced(requestKey(CONFIG, { inputs, requestedOutputs, parameters, sequence }));
}

describe('requestKey', () => {
  it('takes time in proportion to the bytes, with pauses', () => {
    const large = (fill: number) => ({ ...tensor([]), bytes: Buffer.alloc(8 * PAUSE_BYTES, fill) });
    const work = requestKey(CONFIG, { inputs: [large(1)], requestedOutputs: [], parameters: undefined });
    let pauses = 0;
    let step = work.next();
    for (; step.done !== true; step = work.next()) pauses++;
    expect(pauses).toBe(8);
    expect(step.value).toBe(keyOf({ inputs: [large(1)] }));
    expect(step.value).not.toBe(keyOf({ inputs: [large(2)] }));
  });

  it.each<[string, Asked, Asked]>([
    ['the same bytes in other memory', {}, { inputs: [{ ...tensor([1, 2, 3]) }, undefined] }],
    ['the order of requested outputs', { requestedOutputs: ['x', 'y'] }, { requestedOutputs: ['y', 'x'] }],
    ['the order of parameters', { parameters: { p: 1, q: 2 } }, { parameters: { q: 2, p: 1 } }],
    ['the parameter about the cache', {}, { parameters: { response_cache: true } }],
    ['an empty list of parameters', {}, { parameters: {} }],
  ])('is the same whatever %s', (_, first, second) => {
    expect(keyOf(second)).toBe(keyOf(first));
  });

  it.each<[string, Asked, Asked]>([
    ['bytes', {}, { inputs: [tensor([1, 2, 4]), undefined] }],
    ['datatypes', {}, { inputs: [{ ...tensor([1, 2, 3]), datatype: 'INT8' }, undefined] }],
    ['shapes', {}, { inputs: [tensor([1, 2, 3], [3, 1]), undefined] }],
    ['which input has the bytes', {}, { inputs: [undefined, tensor([1, 2, 3])] }],
    [
      'where one input ends and the next begins',
      { inputs: [tensor([1, 2], [1]), tensor([3], [1])] },
      { inputs: [tensor([1], [1]), tensor([2, 3], [1])] },
    ],
    ['an input without bytes and none', {}, { inputs: [tensor([1, 2, 3]), tensor([])] }],
    ['requested outputs', {}, { requestedOutputs: ['x'] }],
    ['one requested output and another', { requestedOutputs: ['x'] }, { requestedOutputs: ['y'] }],
    ['parameters', {}, { parameters: { p: 1 } }],
    ['the values of parameters', { parameters: { p: 1 } }, { parameters: { p: 2 } }],
    ['their types', { parameters: { p: 1 } }, { parameters: { p: '1' } }],
    ['true and its text', { parameters: { p: true } }, { parameters: { p: 'true' } }],
    ['zeros', { parameters: { p: 0 } }, { parameters: { p: -0 } }],
    [
      'parameters whose texts run into each other',
      { parameters: { p: '1","q":"2' } },
      { parameters: { p: '1', q: '2' } },
    ],
    ['a request of a sequence and one of none', {}, { sequence: { id: 1, start: false, end: false } }],
    [
      'a number and its text as the id of a sequence',
      { sequence: { id: 1, start: false, end: false } },
      { sequence: { id: '1', start: false, end: false } },
    ],
    [
      'the first and the last of a sequence',
      { sequence: { id: 1, start: true, end: false } },
      { sequence: { id: 1, start: false, end: true } },
    ],
    ['numbers beyond doubles', { parameters: { p: 2n ** 60n } }, { parameters: { p: 2n ** 60n + 1n } }],
  ])('tells %s apart', (_, first, second) => {
    expect(keyOf(second)).not.toBe(keyOf(first));
  });
});
