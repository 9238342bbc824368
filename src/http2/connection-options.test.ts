import { describe, expect, it } from 'vitest';
import { completeOptions } from './connection-options.js';

describe('the options of a connection', () => {
  it('are complete', () => {
    expect(completeOptions()).toEqual(completeOptions({}));
    expect(completeOptions({ streamWindow: 5 })).toEqual({ ...completeOptions(), streamWindow: 5 });
  });

  it.each([
    { streamWindow: 2 ** 31 },
    { streamWindow: -1 },
    { connectionWindow: 1.5 },
    { maxFrameSize: 16_383 },
    { maxFrameSize: 16_777_216 },
    { maxConcurrentStreams: Number.NaN },
    { headerTableSize: 2 ** 32 },
  ])('%o are refused', (options) => {
    expect(() => completeOptions(options)).toThrow(RangeError);
  });
});
