import { describe, expect, it } from 'vitest';

import { BatchGate } from './batch-gate.js';

describe('BatchGate', () => {
  it('gives a batch to whichever side asks first, once', () => {
    const server = new BatchGate();
    const callable = new BatchGate(server.memory);
    server.open(7);
    expect([callable.takeAny(), server.take(7), callable.takeAny()]).toEqual([7, false, undefined]);
    server.open(8);
    expect([server.take(8), callable.take(8), callable.takeAny()]).toEqual([true, false, undefined]);
  });

  it('gives nothing for the number of another batch', () => {
    const gate = new BatchGate();
    gate.open(2);
    expect([gate.take(1), gate.take(2)]).toEqual([false, true]);
  });
});
