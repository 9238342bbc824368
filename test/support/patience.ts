// Loaded before every test file: gives `vi.waitFor`, which vitest cannot be configured for, the limits of `expect.poll`.
import { vi } from 'vitest';

import { POLL_MILLISECONDS, WAIT_MILLISECONDS } from './waiting.js';

const KEY = Symbol.for('tstriton.patience');
const shared = globalThis as { [KEY]?: typeof vi.waitFor };
// Files that share a process share `vi` too.
const waitFor = (shared[KEY] ??= vi.waitFor);

vi.waitFor = (callback, options) => {
  const given = typeof options === 'number' ? { timeout: options } : options;
  return waitFor(callback, { timeout: WAIT_MILLISECONDS, interval: POLL_MILLISECONDS, ...given });
};
