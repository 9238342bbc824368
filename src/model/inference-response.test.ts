import { describe, expect, it } from 'vitest';

import { InferenceResponse } from './inference-response.js';

describe('InferenceResponse', () => {
  it('has outputs, and parameters where there are some', () => {
    const outputs = { y: [1] };
    const response = new InferenceResponse(outputs, { parameters: { model_time: 12 } });
    expect(response.outputs).toBe(outputs);
    expect(response.parameters).toEqual({ model_time: 12 });
    expect(new InferenceResponse(outputs).parameters).toBeUndefined();
  });

  it('is known, that of another copy of the package too', () => {
    const foreign = Object.defineProperty({}, Symbol.for('tstriton.InferenceResponse'), { value: true });
    expect([new InferenceResponse({}), foreign].map(InferenceResponse.is)).toEqual([true, true]);
    expect([{ outputs: {} }, null, undefined, 7].some(InferenceResponse.is)).toBe(false);
  });

  it('shows its mark to nobody who lists its members', () => {
    expect(Object.keys(new InferenceResponse({}))).toEqual(['outputs', 'parameters', 'final']);
  });
});
