import { describe, expect, it } from 'vitest';

import type { DeclaredJson, DeclaredTensorJson } from '../src/frontend/page/page-json.js';
import { initialState, modesOf, prepare } from './input-state.js';

const DECLARED: DeclaredJson = {
  inputs: [],
  outputs: [],
  maxBatchSize: 0,
  decoupled: false,
  sequences: false,
  instanceCount: 1,
};
const DATATYPES = { bool: 'BOOL', int64: 'INT64', float16: 'FP16', float32: 'FP32', string: 'BYTES' } as const;

describe('the form of an input', () => {
  const shapes = [[], [1], [2], [-1], [2, -1], [2, 3, 1], [-1, -1], [100]];
  const cases = Object.entries(DATATYPES).flatMap(([dtype, datatype]) =>
    shapes.map((shape) => ({ name: 'x', dtype, datatype, shape, optional: false }) as DeclaredTensorJson),
  );

  it.each(cases.filter(({ datatype, shape }) => shape[0] !== 100 || !['BYTES', 'BOOL'].includes(datatype)))(
    'can be sent as it opens: $dtype $shape',
    async (spec) => {
      const { elements } = await prepare(spec, initialState(spec, DECLARED));
      expect(spec.shape.map((size, axis) => (size === -1 ? -1 : elements.shape[axis]))).toEqual(spec.shape);
      expect(elements.values.length).toBeGreaterThan(0);
    },
  );

  it('of a text begins with one, however it is given', () => {
    const spec: DeclaredTensorJson = { name: 'x', dtype: 'string', datatype: 'BYTES', shape: [1], optional: false };
    expect(modesOf(spec)).toEqual(['text', 'values', 'file']);
    expect(initialState(spec, DECLARED).typed).toBe('Hello');
    expect(initialState({ ...spec, contentEncoding: 'base64' }, DECLARED)).toMatchObject({ mode: 'file', typed: 'Hello' }); // prettier-ignore
  });
});
