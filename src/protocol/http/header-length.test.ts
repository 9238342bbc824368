import { describe, expect, it } from 'vitest';

import { parseHeaderLength } from './header-length.js';

describe('Inference-Header-Content-Length', () => {
  it.each<[string | undefined, number]>([
    [undefined, 100],
    ['0', 0],
    ['93', 93],
    ['100', 100],
    ['93, 93', 93],
    ['93 ,\t93', 93],
  ])('of %j is %d', (header, length) => {
    expect(parseHeaderLength(header, 100)).toBe(length);
  });

  it.each(['', '5, 93', '93, 5', '93, ', '93\xa0', '93\xa0, 93', '+93', '9e1', '0x5d', '93, -93'])(
    'cannot be %j',
    (header) => {
      expect(() => parseHeaderLength(header, 100)).toThrow(
        `Unable to parse Inference-Header-Content-Length, got: ${header}`,
      );
    },
  );

  it.each(['101', '-1', '101, 101'])('of 100 bytes cannot be %j', (header) => {
    expect(() => parseHeaderLength(header, 100)).toThrow(
      `inference header size should be in range (0, 100), got: ${header}`,
    );
  });
});
