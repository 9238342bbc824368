import { describe, expect, it } from 'vitest';

import { StreamTable } from './stream-table.js';

describe('StreamTable', () => {
  it('tells streams that have not begun from those that have ended, by the side that may open them', () => {
    const table = new StreamTable('server');
    table.lastPeerId = 5;
    expect([1, 3, 5, 7].map((id) => table.stateOf(id))).toEqual(['closed', 'closed', 'closed', 'idle']);
    expect([2, 4].map((id) => table.stateOf(id))).toEqual(['idle', 'idle']);
    expect(table.takeLocalId()).toBe(2);
    expect([2, 4].map((id) => table.stateOf(id))).toEqual(['closed', 'idle']);
  });

  it('remembers the last 4096 resets, so that a peer cannot have it remember ever more', () => {
    const table = new StreamTable('server');
    table.lastPeerId = 1e6 + 1;
    for (let i = 0; i < 10_000; i++) table.rememberReset(2 * i + 1);
    const remembered = Array.from({ length: 10_000 }, (_, i) => 2 * i + 1).filter(
      (id) => table.stateOf(id) === 'reset',
    );
    expect(remembered.length).toBe(4096);
    expect([remembered[0], remembered.at(-1)]).toEqual([2 * (10_000 - 4096) + 1, 19_999]);
  });

  it('has ids for new streams until there are none left', () => {
    const table = new StreamTable('client');
    expect([table.takeLocalId(), table.takeLocalId()]).toEqual([1, 3]);
    expect([table.isLocal(5), table.isLocal(6), table.hasLocalIds]).toEqual([true, false, true]);
  });
});
