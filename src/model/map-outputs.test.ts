import { describe, expect, it } from 'vitest';

import { allSteps, stepsOf } from '../../test/support/decorated-call.js';
import type { InferenceContext } from './callable.js';
import { mapOutputs } from './map-outputs.js';

const contextOf = (decoupled: boolean) => ({ modelConfig: { name: 'm', decoupled } }) as unknown as InferenceContext;

function map(result: unknown, decoupled = false): unknown {
  return mapOutputs(result as never, contextOf(decoupled), (outputs) => ({ mapped: outputs }) as never);
}

describe('mapOutputs', () => {
  it('maps outputs at once', () => {
    expect(map({ y: 1 })).toEqual({ mapped: { y: 1 } });
  });

  it('maps what a promise is fulfilled with', async () => {
    const mapped = map(Promise.resolve([1]));
    expect(mapped).toBeInstanceOf(Promise);
    expect(await mapped).toEqual({ mapped: [1] });
    await expect(map(Promise.reject(new Error('no')))).rejects.toThrow('no');
  });

  it('maps every step of a decoupled model', async () => {
    const two = () => [1, 2].values();
    expect(stepsOf(map(two(), true))).toEqual([{ mapped: 1 }, { mapped: 2 }]);
    const slowly = async function* () {
      yield* two();
    };
    expect(await allSteps(map(slowly(), true))).toEqual([{ mapped: 1 }, { mapped: 2 }]);
    expect(stepsOf(await map(Promise.resolve(two()), true))).toEqual([{ mapped: 1 }, { mapped: 2 }]);
  });

  it('takes outputs that a decoupled model returns for its only step', async () => {
    expect(stepsOf(map({ y: 1 }, true))).toEqual([{ mapped: { y: 1 } }]);
    expect(stepsOf(await map(Promise.resolve([1]), true))).toEqual([{ mapped: [1] }]);
  });
});
