import { getEventListeners } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { TritonError } from '../errors.js';
import { Call } from './call.js';

const LIMITS = { timeoutMs: 60_000, signals: [], subject: "model 'M' at http://h:8000" };

describe('Call', () => {
  it('is aborted by its deadline with DEADLINE_EXCEEDED', () => {
    vi.useFakeTimers();
    try {
      const call = new Call({ ...LIMITS, timeoutMs: 250 });
      const seen: TritonError[] = [];
      call.onAbort((error) => seen.push(error));
      vi.advanceTimersByTime(249);
      expect(seen).toEqual([]);
      vi.advanceTimersByTime(1);
      expect(seen).toMatchObject([
        { code: 'DEADLINE_EXCEEDED', message: "deadline of 250 ms exceeded for model 'M' at http://h:8000" },
      ]);
      expect(call.expired).toBe(true);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it('is over when its time has passed by the clock, though its timer had no turn', () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    try {
      const call = new Call({ ...LIMITS, timeoutMs: 250 });
      vi.advanceTimersByTime(249);
      call.throwIfOver();
      vi.advanceTimersByTime(1);
      expect(() => call.throwIfOver()).toThrow('deadline of 250 ms exceeded');
      expect(call.expired).toBe(true);
      const whole = new Call({ ...LIMITS, timeoutMs: 250 });
      const [one, other] = [whole.part(), whole.part()];
      vi.advanceTimersByTime(250);
      expect(() => one.throwIfOver()).toThrow('deadline of 250 ms exceeded');
      expect([one.error, other.error]).toEqual([whole.error, whole.error]);
      expect([whole, one, other].map(({ expired }) => expired)).toEqual([true, true, true]);
      const paused = new Call({ ...LIMITS, timeoutMs: 250 });
      paused.pause();
      vi.advanceTimersByTime(1000);
      paused.throwIfOver();
      paused.restart();
      paused.throwIfOver();
      paused.end();
    } finally {
      vi.useRealTimers();
    }
  });

  it('is aborted by any of its signals with CANCELLED, and keeps the reason as cause', () => {
    const [one, two] = [new AbortController(), new AbortController()];
    const call = new Call({ ...LIMITS, signals: [one.signal, undefined, two.signal] });
    two.abort(new Error('user left'));
    expect(call.error).toMatchObject({
      code: 'CANCELLED',
      message: "model 'M' at http://h:8000 was cancelled by its signal",
    });
    expect(call.error?.cause).toMatchObject({ message: 'user left' });
    expect(call.expired).toBe(false);
  });

  it('is aborted from the start by a signal that has aborted', () => {
    const call = new Call({ ...LIMITS, signals: [AbortSignal.abort()] });
    expect(() => call.throwIfAborted()).toThrow(call.error);
    const seen: TritonError[] = [];
    call.onAbort((error) => seen.push(error));
    expect(seen).toEqual([call.error]);
  });

  it('keeps its first error', () => {
    const call = new Call(LIMITS);
    const first = new TritonError('CANCELLED', 'first');
    call.abort(first);
    call.abort(new TritonError('CANCELLED', 'second'));
    expect(call.error).toBe(first);
  });

  it('leaves no listener and no timer, whether it ends or is aborted', () => {
    vi.useFakeTimers();
    try {
      const { signal } = new AbortController();
      const ended = new Call({ ...LIMITS, signals: [signal] });
      const aborted = new Call({ ...LIMITS, signals: [signal] });
      expect(vi.getTimerCount()).toBe(2);
      ended.end();
      aborted.abort(new TritonError('CANCELLED', 'closed'));
      expect(getEventListeners(signal, 'abort')).toHaveLength(0);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it('puts one listener on a signal that many calls share, and Node does not warn', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on('warning', onWarning);
    const controller = new AbortController();
    const calls = Array.from({ length: 50 }, () => new Call({ ...LIMITS, signals: [controller.signal] }));
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
    calls[0]!.end();
    controller.abort();
    expect(calls.map((call) => call.error?.code)).toEqual([
      undefined,
      ...Array.from({ length: 49 }, () => 'CANCELLED'),
    ]);
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
  });

  it('races a promise: its outcome, or the abort', async () => {
    const call = new Call(LIMITS);
    await expect(call.race(Promise.resolve(1))).resolves.toBe(1);
    await expect(call.race(Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    const pending = call.race(new Promise(() => {}));
    call.abort(new TritonError('CANCELLED', 'closed'));
    await expect(pending).rejects.toThrow('closed');
  });
});
