import { describe, expect, it } from 'vitest';

import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { Tensor } from '../tensor/tensor.js';
import { GroupStates } from './group-states.js';

const column = (...values: number[]) => new Tensor('int32', Int32Array.from(values), [values.length, 1]);

const CONFIG = {
  decoupled: true,
  sequenceBatching: { states: [{ name: 'h', output: 'next' }] },
} as unknown as CompleteModelConfig;

const valuesOf = ({ next }: Record<string, Tensor>) => [...(next!.data as Int32Array)];

describe('GroupStates', () => {
  it('gives a group what it has given in an earlier step, or came with', () => {
    const inputs = { h: column(1, 2, 3) };
    const states = new GroupStates(inputs, [[0, 2], [1]], CONFIG);
    inputs.h.data.fill(99);
    const own = column(7, 8);
    const first: Record<string, Tensor>[] = [{ next: own }, {}];
    states.complete(first);
    expect(first.map(valuesOf)).toEqual([[7, 8], [2]]);
    own.data.fill(99);
    const second: Record<string, Tensor>[] = [{}, { next: column(5) }];
    states.complete(second);
    expect(second.map(valuesOf)).toEqual([[7, 8], [5]]);
  });

  it('gives nothing where no group does, and no state that the callable did not get', () => {
    const outputs: Record<string, Tensor>[] = [{}, {}];
    new GroupStates({ h: column(1, 2) }, [[0], [1]], CONFIG).complete(outputs);
    expect(outputs).toEqual([{}, {}]);
    const given = [{ next: column(1) }, {}];
    new GroupStates({}, [[0], [1]], CONFIG).complete(given);
    expect(given[1]).toEqual({});
  });
});
