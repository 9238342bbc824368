import { describe, expect, it } from 'vitest';

import { planReload } from './reloader.js';

describe('a reload', () => {
  it('replaces what goes on, adds what is new, and removes what is gone', () => {
    expect(planReload(['A/1', 'B/1'], ['B/1', 'B/2'])).toEqual({ replaced: ['B/1'], added: ['B/2'], removed: ['A/1'] });
  });
});
