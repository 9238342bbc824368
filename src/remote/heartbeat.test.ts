import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { TritonError } from '../errors.js';
import { Heartbeat } from './heartbeat.js';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** Never answers. */
const silence = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));

function heartbeat(ask: (signal: AbortSignal) => Promise<unknown>) {
  const asked = vi.fn<typeof ask>(ask);
  const onSilent = vi.fn<() => void>();
  return { asked, onSilent, beat: new Heartbeat({ ask: asked, onSilent }) };
}

it('tells of silence within 15 s, and asks on', async () => {
  const { asked, onSilent, beat } = heartbeat(silence);
  await vi.advanceTimersByTimeAsync(14_900);
  expect(onSilent).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(200);
  expect(onSilent).toHaveBeenCalledOnce();
  await vi.advanceTimersByTimeAsync(15_000);
  expect(onSilent).toHaveBeenCalledTimes(2);
  beat.close();
  expect(asked).toHaveBeenCalledTimes(2);
});

it.each([
  ['an answer', () => Promise.resolve(true)],
  ['that it is not live', () => Promise.resolve(false)],
  ['a refused connection', () => Promise.reject(Object.assign(new Error('no'), { code: 'ECONNREFUSED' }))],
])('takes %s for a sign of life', async (_, ask) => {
  const { asked, onSilent, beat } = heartbeat(ask);
  await vi.advanceTimersByTimeAsync(60_000);
  beat.close();
  expect(asked.mock.calls.length).toBeGreaterThan(10);
  expect(onSilent).not.toHaveBeenCalled();
});

it('takes an address without a way to it for silence', async () => {
  const cause = Object.assign(new Error('no way'), { code: 'EHOSTUNREACH' });
  const { onSilent, beat } = heartbeat(() => Promise.reject(new TritonError('UNAVAILABLE', 'no way', { cause })));
  await vi.advanceTimersByTimeAsync(5100);
  beat.close();
  expect(onSilent).toHaveBeenCalledOnce();
});

it('counts turns and no time: a thread that was blocked reads the answer first', async () => {
  let answer!: () => void;
  const { onSilent, beat } = heartbeat(() => new Promise<void>((resolve) => (answer = resolve)));
  await vi.advanceTimersByTimeAsync(5000);
  vi.setSystemTime(Date.now() + 60_000);
  await vi.advanceTimersByTimeAsync(500);
  answer();
  await vi.advanceTimersByTimeAsync(4000);
  beat.close();
  expect(onSilent).not.toHaveBeenCalled();
});

it('asks no more when it is closed', async () => {
  const { asked, onSilent, beat } = heartbeat(silence);
  await vi.advanceTimersByTimeAsync(6000);
  beat.close();
  await vi.advanceTimersByTimeAsync(60_000);
  expect([asked.mock.calls.length, onSilent.mock.calls.length, vi.getTimerCount()]).toEqual([1, 0, 0]);
});
