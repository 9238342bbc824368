import { totalmem } from 'node:os';

import { expect, it } from 'vitest';

import { defaultInflightBytes } from './default-inflight-bytes.js';

const MIB = 2 ** 20;

it.each([
  [64, 16],
  [256, 32],
  [512, 96],
  [1024, 224],
  [4096, 992],
  [65_536, 8192],
])('lets clients have %s MiB less 128, a quarter of it, within bounds', (memory, expected) => {
  expect(defaultInflightBytes(memory * MIB)).toBe(expected * MIB);
});

it('looks at the memory that this process may have', () => {
  expect(defaultInflightBytes()).toBeGreaterThanOrEqual(16 * MIB);
  expect(defaultInflightBytes()).toBeLessThanOrEqual(Math.max(16 * MIB, totalmem() / 4));
});
