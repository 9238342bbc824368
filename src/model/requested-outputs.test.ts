import { describe, expect, it } from 'vitest';

import type { InferenceRequest } from './callable.js';
import { completeModelConfig } from './complete-model.js';
import { neededByAny, requestedByAny, requestedNames } from './requested-outputs.js';

const spec = { dtype: 'bool', shape: [1] } as const;
const config = completeModelConfig({ modelName: 'm', inputs: {}, outputs: { a: spec, b: spec, c: spec } }, 1);
const asking = (...names: string[]) => ({ requestedOutputs: names }) as unknown as InferenceRequest;

describe('requestedNames', () => {
  it.each<[string[], string[]]>([
    [[], ['a', 'b', 'c']],
    [['b'], ['b']],
    [
      ['c', 'a', 'c'],
      ['a', 'c'],
    ],
    [['nope'], []],
  ])('of %j are %j, in declaration order', (asked, names) => {
    expect(requestedNames(asked, config)).toEqual(names);
  });

  it('cannot be changed: requests share them', () => {
    for (const names of [requestedNames([], config), requestedNames(['a'], config)]) {
      expect(() => (names as string[]).pop()).toThrow(TypeError);
    }
    expect(requestedNames([], config)).toBe(requestedNames([], config));
  });
});

describe('requestedByAny', () => {
  it.each<[InferenceRequest[], string[]]>([
    [[asking('b')], ['b']],
    [
      [asking('c'), asking('a')],
      ['a', 'c'],
    ],
    [
      [asking('c'), asking('a', 'b', 'c')],
      ['a', 'b', 'c'],
    ],
    [
      [asking('c'), {} as InferenceRequest],
      ['a', 'b', 'c'],
    ],
    [[{} as InferenceRequest], ['a', 'b', 'c']],
  ])('of %o are %j', (requests, names) => {
    expect(requestedByAny(requests, config)).toEqual(names);
  });
});

describe('neededByAny', () => {
  it.each<[InferenceRequest[], string[]]>([
    [[asking('b')], ['b', 'c']],
    [[asking('a', 'c')], ['a', 'c']],
    [
      [asking('c'), asking('a')],
      ['a', 'c'],
    ],
    [[], ['a', 'b', 'c']],
  ])('of %o are %j, with the next state of a sequence', (requests, names) => {
    const sequenceBatching = { state: { h: { dtype: 'bool', shape: [1], output: 'c' } } } as const;
    const outputs = { a: spec, b: spec, c: spec };
    const stateful = completeModelConfig({ modelName: 'm', inputs: {}, outputs, config: { sequenceBatching } }, 1);
    expect(neededByAny(requests, stateful)).toEqual(names);
    expect(neededByAny(requests, config)).toEqual(requestedByAny(requests, config));
  });
});
