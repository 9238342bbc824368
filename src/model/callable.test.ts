import { describe, expect, it } from 'vitest';

import { defineModel } from './callable.js';

describe('defineModel', () => {
  it('gives the declaration back as it is: it only types it', () => {
    const spec = { modelName: 'Linear', inputs: { x: { dtype: 'float32', shape: [-1] } }, outputs: {} } as const;
    expect(defineModel(spec)).toBe(spec);
  });
});
