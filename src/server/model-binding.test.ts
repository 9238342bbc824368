import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { READING, standStill } from '../../test/support/standstill.js';
import { TEARDOWN_GRACE } from '../model/run-setup.js';
import { ModelBinding } from './model-binding.js';
import type { ServerHandle } from './server-handle.js';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** A model whose `teardown` has begun, and its end. */
async function tearingDown() {
  const warnings: string[] = [];
  let end = (): void => undefined;
  const binding = new ModelBinding({
    modelName: 'm',
    inputs: {},
    outputs: {},
    inferFunc: (requests: readonly object[]) => requests as never,
    teardown: () => new Promise<void>((resolve) => (end = resolve)),
  });
  const ignore = () => undefined;
  const logger = { error: ignore, warn: (text: string) => void warnings.push(text), info: ignore, verbose: ignore };
  const server = { logger, tracing: undefined, load: async () => void (await binding.open()) };
  await binding.load(server as unknown as ServerHandle, { signal: new AbortController().signal });
  const released = binding.release();
  await vi.advanceTimersByTimeAsync(0);
  return { binding, warnings, released, end: () => end() };
}

it('waits for a teardown for five seconds, and says that it waits no longer', async () => {
  const { binding, warnings, released, end } = await tearingDown();
  await vi.advanceTimersByTimeAsync(TEARDOWN_GRACE - 1);
  expect([warnings, binding.isLeftBehind]).toEqual([[], false]);
  await vi.advanceTimersByTimeAsync(1 + READING);
  await released;
  expect(warnings).toEqual(["teardown of 'm' version 1 has not ended after 5 s: nothing waits for it any more"]);
  expect(binding.isLeftBehind).toBe(true);
  end();
  await vi.advanceTimersByTimeAsync(0);
  expect(binding.isLeftBehind).toBe(false);
});

it('counts no standstill of its thread against a teardown, but waits no third time', async () => {
  const { warnings, released } = await tearingDown();
  standStill(60_000);
  await vi.advanceTimersByTimeAsync(TEARDOWN_GRACE + READING);
  expect(warnings).toEqual([]);
  standStill(60_000);
  await vi.advanceTimersByTimeAsync(TEARDOWN_GRACE + READING);
  await released;
  expect(warnings).toHaveLength(1);
});
