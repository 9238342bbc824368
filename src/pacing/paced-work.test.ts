import { describe, expect, it, vi } from 'vitest';

import { finishPaced, Pace, PAUSE_BYTES, type PacedWork } from './paced-work.js';
import { PacedWorkers, startPaced } from './paced-workers.js';

/** A thread whose clock goes on by 1/16 ms with every look at it, and whose turns are made by hand. */
function thread() {
  let now = 0;
  const turns: (() => void)[] = [];
  const workers = new PacedWorkers({ now: () => now++ / 16, later: (callback) => turns.push(callback) });
  return {
    workers,
    /** One turn of the event loop; false when there is nothing to do. */
    turn(): boolean {
      const due = turns.splice(0);
      for (const callback of due) callback();
      return due.length > 0;
    },
  };
}

/** Work that pauses so many times; it notes each piece that it does. */
function* pieces(count: number, name: string, log: string[] = []): PacedWork<string> {
  for (let i = 0; i < count; i++) {
    log.push(`${name}${i}`);
    yield;
  }
  return name;
}

function ends() {
  return { done: vi.fn<(value: string | void) => void>(), failed: vi.fn<(error: unknown) => void>() };
}

describe('paced work', () => {
  it('that does not pause is done at once', () => {
    const end = ends();
    expect(thread().workers.start(pieces(0, 'a'), end)).toBeUndefined();
    expect(end.done).toHaveBeenCalledExactlyOnceWith('a');
  });

  it('that fails before its first pause tells so at once', () => {
    const error = new Error('no');
    const end = ends();
    // eslint-disable-next-line require-yield
    const work = (function* (): PacedWork<void> {
      throw error;
    })();
    expect(thread().workers.start(work, end)).toBeUndefined();
    expect(end.failed).toHaveBeenCalledExactlyOnceWith(error);
  });

  it('holds the thread for one slice in a turn', () => {
    const { workers, turn } = thread();
    const end = ends();
    const log: string[] = [];
    workers.start(pieces(10, 'a', log), end);
    const done: number[] = [];
    for (; turn(); done.push(log.length));
    expect(done).toEqual([5, 9, 10]);
    expect(end.done).toHaveBeenCalledExactlyOnceWith('a');
  });

  it('takes turns with other work, so that short work does not wait for long', () => {
    const { workers, turn } = thread();
    const long = ends();
    const short = ends();
    workers.start(pieces(1000, 'long'), long);
    workers.start(pieces(2, 'short'), short);
    turn();
    turn();
    expect(short.done).toHaveBeenCalledOnce();
    expect(long.done).not.toHaveBeenCalled();
    while (turn());
    expect(long.done).toHaveBeenCalledOnce();
  });

  it('that is cancelled does nothing more, and lets go of what it holds', () => {
    const { workers, turn } = thread();
    const end = ends();
    const released = vi.fn<() => void>();
    const log: string[] = [];
    const work = (function* (): PacedWork<string> {
      try {
        return yield* pieces(100, 'a', log);
      } finally {
        released();
      }
    })();
    const run = workers.start(work, end);
    const other = ends();
    workers.start(pieces(1, 'b'), other);
    run!.cancel();
    run!.cancel();
    expect(released).toHaveBeenCalledOnce();
    while (turn());
    expect(log).toEqual(['a0']);
    expect(end.done).not.toHaveBeenCalled();
    expect(end.failed).not.toHaveBeenCalled();
    expect(other.done).toHaveBeenCalledOnce();
  });

  it.each([
    ['ends at its next pause', 1, []],
    ['is done where no pause follows', 0, ['done']],
  ])('that is cancelled by what it does itself %s', (_, pauses, ended) => {
    const { workers, turn } = thread();
    const log: string[] = [];
    function* work(): PacedWork<void> {
      try {
        yield;
        run!.cancel();
        log.push('went on');
        for (let i = 0; i < pauses; i++) yield;
        log.push('done');
      } finally {
        log.push('let go');
      }
    }
    const end = { ...ends(), done: () => void log.push('told') };
    const run = workers.start(work(), end);
    while (turn());
    expect(log).toEqual(['went on', ...ended, 'let go', ...ended.map(() => 'told')]);
    expect(end.failed).not.toHaveBeenCalled();
    run!.cancel();
  });

  it('that fails later, or whose end throws, leaves the other work alone', () => {
    const { workers, turn } = thread();
    const failing = ends();
    const after = ends();
    const work = (function* (): PacedWork<void> {
      yield;
      throw new Error('no');
    })();
    workers.start(work, failing);
    workers.start(pieces(1, 'b'), {
      ...ends(),
      done: () => {
        throw new Error('the end of b');
      },
    });
    workers.start(pieces(1, 'c'), after);
    turn();
    expect(failing.failed).toHaveBeenCalledOnce();
    expect(turn).toThrow('the end of b');
    turn();
    expect(after.done).toHaveBeenCalledOnce();
  });

  it('can be finished without pauses', () => {
    const log: string[] = [];
    expect(finishPaced(pieces(100, 'a', log))).toBe('a');
    expect(log).toHaveLength(100);
  });

  it('of this thread lets timers and immediates go between its slices', async () => {
    let between = 0;
    const count = setInterval(() => between++, 0);
    try {
      await new Promise<void>((done) => {
        const work = (function* (): PacedWork<void> {
          while (between < 3) yield;
        })();
        startPaced(work, { done, failed: done });
      });
    } finally {
      clearInterval(count);
    }
    expect(between).toBeGreaterThanOrEqual(3);
  });
});

describe('a pace', () => {
  it('asks for a pause after so much work, however it is cut', () => {
    const count = (bytes: number, times: number) => {
      const pace = new Pace();
      let pauses = 0;
      for (let i = 0; i < times; i++) if (pace.spend(bytes)) pauses++;
      return pauses;
    };
    expect(count(PAUSE_BYTES - 1, 1)).toBe(0);
    expect(count(PAUSE_BYTES, 3)).toBe(3);
    expect(count(PAUSE_BYTES / 64, 640)).toBe(10);
    expect(count(10 * PAUSE_BYTES, 2)).toBe(2);
  });
});
