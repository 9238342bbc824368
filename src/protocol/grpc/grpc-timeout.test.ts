import { describe, expect, it } from 'vitest';

import { formatGrpcTimeout, parseGrpcTimeout } from './grpc-timeout.js';

describe('parseGrpcTimeout', () => {
  it.each([
    ['10S', 10_000],
    ['1H', 3_600_000],
    ['99999999H', 99_999_999 * 3_600_000],
    ['1M', 60_000],
    ['500m', 500],
    ['1000u', 1],
    ['1n', 1e-6],
    ['0S', 0],
    ['0n', 0],
    ['100000000S', 100_000_000_000],
    ['5 S', 5000],
    ['5S ', 5000],
  ])('reads %j as %d ms', (text, milliseconds) => {
    expect(parseGrpcTimeout(text)).toBe(milliseconds);
  });

  it.each(['', 'S', '5', '5s', '1.5S', '-1S', 'abc', '10x', '1S,2S', '+1S', ' 1S', '0x1S', '1e3S', '٣S'])(
    'refuses %j',
    (text) => {
      expect(parseGrpcTimeout(text)).toBeUndefined();
    },
  );
});

describe('formatGrpcTimeout', () => {
  it.each([
    [0, '0u'],
    [-5, '0u'],
    [0.5, '500u'],
    [0.0001, '1u'],
    [999.9991, '1000000u'],
    [1000, '1000m'],
    [1000.2, '1001m'],
    [99_999_999, '99999999m'],
    [100_000_000, '100000S'],
    [1e13, '2777778H'],
    [Infinity, '99999999H'],
  ])('writes %d ms as %s', (milliseconds, text) => {
    expect(formatGrpcTimeout(milliseconds)).toBe(text);
  });

  it('gives what the parser reads as at least the same time', () => {
    for (const milliseconds of [0.001, 1, 17.3, 999.5, 1234.5, 1e7, 1e8, 1e11, 3e12]) {
      const text = formatGrpcTimeout(milliseconds);
      expect(text).toMatch(/^[0-9]{1,8}[HMSmun]$/);
      expect(parseGrpcTimeout(text)).toBeGreaterThanOrEqual(milliseconds);
    }
  });
});
