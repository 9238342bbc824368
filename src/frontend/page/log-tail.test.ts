import { describe, expect, it } from 'vitest';

import { LogTail } from './log-tail.js';

const entry = (message: string) => ({ level: 'info', format: 'default', message }) as const;

describe('LogTail', () => {
  it('keeps the latest entries, and gives those behind a number', () => {
    const tail = new LogTail();
    for (let i = 1; i <= 502; i++) tail.add(entry(`line ${i}`));
    const { entries } = tail.after(0);
    expect([entries.length, entries[0]?.message, entries.at(-1)?.number]).toEqual([500, 'line 3', 502]);
    expect(tail.after(501).entries.map(({ message }) => message)).toEqual(['line 502']);
    expect(tail.after(502).entries).toEqual([]);
  });

  it('gives all to a reader of a server before this one', () => {
    const tail = new LogTail();
    tail.add(entry('first'));
    expect(tail.after(70).entries.map(({ message }) => message)).toEqual(['first']);
  });

  it('cuts long messages', () => {
    const tail = new LogTail();
    tail.add(entry('x'.repeat(1_000_000)));
    expect(tail.after(0).entries[0]?.message.length).toBeLessThan(5000);
  });
});
