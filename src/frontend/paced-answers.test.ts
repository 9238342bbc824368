import { describe, expect, it, vi } from 'vitest';

import type { PacedWork } from '../pacing/paced-work.js';
import { PacedAnswers } from './paced-answers.js';

function* work(pauses: number): PacedWork<void> {
  for (let i = 0; i < pauses; i++) yield;
}

describe('answers whose encoding may pause', () => {
  it('keep their order, however long each takes', async () => {
    const answers = new PacedAnswers();
    const sent: string[] = [];
    const send = (name: string, pauses: number): void => {
      if (answers.busy) void answers.defer(() => send(name, pauses));
      else answers.encode(work(pauses), { done: () => void sent.push(name), failed: () => undefined });
    };
    send('long', 1);
    send('short', 0);
    send('also long', 1);
    send('last', 0);
    await vi.waitFor(() => expect(sent).toHaveLength(4));
    expect(sent).toEqual(['long', 'short', 'also long', 'last']);
  });

  it('may be as many as a callable gives', async () => {
    const answers = new PacedAnswers();
    let sent = 0;
    const send = (pauses: number): void => {
      if (answers.busy) void answers.defer(() => send(pauses));
      else answers.encode(work(pauses), { done: () => void sent++, failed: () => undefined });
    };
    send(1);
    for (let i = 0; i < 100_000; i++) send(0);
    await vi.waitFor(() => expect(sent).toBe(100_001));
  });
});
