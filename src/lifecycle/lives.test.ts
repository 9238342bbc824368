import { describe, expect, it } from 'vitest';

import { Life, LIVES } from './lives.js';

describe('a life', () => {
  it('goes where the table says', () => {
    const entry = new Life('entry', 'loading');
    const states = (['opened', 'interrupted', 'resumed', 'retired', 'resumed', 'closed'] as const).map((event) => {
      entry.on(event);
      return entry.state;
    });
    expect(states).toEqual(['ready', 'interrupted', 'ready', 'unloading', 'unloading', 'unloaded']);
  });

  it('goes nowhere else', () => {
    const opening = new Life('opening', 'open');
    opening.on('closing');
    expect(() => opening.on('closing')).toThrow('this is a bug in TSTriton: opening that is closing cannot be closing');
    expect(opening.state).toBe('closing');
  });

  it.each(Object.entries(LIVES))('of an %s stays among its states', (_, table) => {
    const next = Object.values<Readonly<Record<string, string>>>(table).flatMap((events) => Object.values(events));
    expect(Object.keys(table)).toEqual(expect.arrayContaining(next));
  });
});
