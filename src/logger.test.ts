import { describe, expect, it, vi } from 'vitest';

import { logLine, ServerLogger, type LogSettings } from './logger.js';

function recorded(settings: Partial<LogSettings> = {}) {
  const lines: string[] = [];
  return { lines, log: new ServerLogger({ write: (entry) => void lines.push(logLine(entry)) }, settings) };
}

describe('ServerLogger', () => {
  it('writes lines in the format of Triton: letter, date, time, process, message', () => {
    vi.useFakeTimers({ now: new Date(2024, 10, 5, 8, 3, 9, 7) });
    try {
      const { lines, log } = recorded();
      log.error('cannot listen');
      log.warn('slow');
      log.info('started');
      expect(lines).toEqual([
        `E1105 08:03:09.007000 ${process.pid}] cannot listen\n`,
        `W1105 08:03:09.007000 ${process.pid}] slow\n`,
        `I1105 08:03:09.007000 ${process.pid}] started\n`,
      ]);
    } finally {
      vi.useRealTimers();
    }
  });

  it('writes verbose lines up to its level only, none by default', () => {
    const { lines, log } = recorded({ verboseLevel: 2 });
    for (const level of [1, 2, 3]) log.verbose(level, `level ${level}`);
    expect(lines.map((line) => line.slice(line.indexOf(']') + 2))).toEqual(['level 1\n', 'level 2\n']);
    expect(lines[0]).toMatch(/^I/);
    const silent = recorded();
    silent.log.verbose(1, 'unseen');
    expect(silent.lines).toEqual([]);
    expect(silent.log.verboseLevel).toBe(0);
  });

  it('keeps each message on one line, so that nobody forges a line', () => {
    const { lines, log } = recorded();
    log.info('name\nE1120 forged\r\t\u001b[31m\u0085\u2028\u2029\u007f end');
    expect(lines).toHaveLength(1);
    expect(lines[0]!.indexOf('\n')).toBe(lines[0]!.length - 1);
    expect(lines[0]).toContain('name\\u000aE1120 forged\\u000d\\u0009\\u001b[31m\\u0085\\u2028\\u2029\\u007f end');
  });

  it('writes the frames of a stack as lines, and nothing else', () => {
    const { lines, log } = recorded();
    const stack = new RangeError('no such row\nE1120 forged').stack!;
    log.error(`model failed: ${stack}`);
    const [head, ...frames] = lines[0]!.trimEnd().split('\n');
    expect(head).toMatch(/\] model failed: RangeError: no such row\\u000aE1120 forged$/);
    expect(frames.length).toBeGreaterThan(1);
    for (const frame of frames) expect(frame).toMatch(/^ {4}at \S/);
    lines.length = 0;
    log.error('name\n    at x\nE1120 forged\n\tat y\n   at z\n    at \u001b[31m');
    expect(lines[0]).toContain(
      'name\n    at x\\u000aE1120 forged\\u000a\\u0009at y\\u000a   at z\n    at \\u001b[31m\n',
    );
  });

  it('leaves other characters as they are', () => {
    const { lines, log } = recorded();
    log.info('größer – 大 \\n');
    expect(lines[0]).toContain('größer – 大 \\n\n');
  });

  it('writes only what is switched on, from one line to the next', () => {
    const { lines, log } = recorded({ warning: false });
    const all = () => {
      lines.length = 0;
      log.error('failed');
      log.warn('slow');
      log.info('started');
      log.verbose(1, 'detail');
      return lines.map((line) => line[0] + line.slice(line.indexOf(']') + 1, -1));
    };
    expect(all()).toEqual(['E failed', 'I started']);
    log.configure({ info: false, warning: true });
    expect(all()).toEqual(['E failed', 'W slow']);
    log.configure({ error: false, warning: false, verboseLevel: 1 });
    expect(all()).toEqual(['I detail']);
  });

  it('writes times of ISO 8601 in UTC when asked to', () => {
    vi.useFakeTimers({ now: Date.UTC(2024, 10, 5, 8, 3, 9, 7) });
    try {
      const { lines, log } = recorded({ format: 'ISO8601' });
      log.warn('slow');
      expect(lines).toEqual([`2024-11-05T08:03:09Z W ${process.pid}] slow\n`]);
    } finally {
      vi.useRealTimers();
    }
  });

  it('writes an object of JSON a line when asked to, and nothing that breaks it or drives a terminal', () => {
    vi.useFakeTimers({ now: Date.UTC(2024, 10, 5, 8, 3, 9, 7) });
    try {
      const { lines, log } = recorded({ format: 'json', verboseLevel: 1 });
      const message = 'a "name"\n    at x\u001b[31m\u0085\u2028\u2029\u007f\u009b größer';
      log.warn(message);
      log.verbose(1, 'detail');
      const time = '2024-11-05T08:03:09.007Z';
      expect(lines.map((line): unknown => JSON.parse(line))).toEqual([
        { time, level: 'warning', pid: process.pid, message },
        { time, level: 'verbose', pid: process.pid, message: 'detail' },
      ]);
      expect(lines[0]).toMatch(/^[ -~ößé]+\n$/);
    } finally {
      vi.useRealTimers();
    }
  });
});
