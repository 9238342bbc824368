import { describe, expect, it } from 'vitest';

import { progress, progressLine } from './progress.js';

describe('progress', () => {
  it('is a bar of one width', () => {
    expect(progressLine(0.5, 'half')).toBe(`${'█'.repeat(15)}${'░'.repeat(15)} half`);
    for (const share of [-1, 0, 0.999, 1, 2]) expect(progressLine(share, '')).toHaveLength(31);
  });

  it('is shown to people alone, and never wraps', () => {
    const written: string[] = [];
    const io = (err: boolean) => ({
      terminal: { in: true, out: true, err },
      err: (text: string) => written.push(text),
      columns: 20,
    });
    progress(io(false) as never).update(0.5, 'text');
    expect(written).toEqual([]);
    progress(io(true) as never).update(0.5, 'text');
    expect(written[0]!.replace('\r\x1b[K', '')).toHaveLength(19);
  });
});
