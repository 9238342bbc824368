import { describe, expect, it, vi } from 'vitest';

import { ServerLogger } from './logger.js';

function recorded(verboseLevel?: number) {
  const lines: string[] = [];
  return { lines, log: new ServerLogger({ write: (line) => void lines.push(line) }, verboseLevel) };
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
    const { lines, log } = recorded(2);
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

  it('leaves other characters as they are', () => {
    const { lines, log } = recorded();
    log.info('größer – 大 \\n');
    expect(lines[0]).toContain('größer – 大 \\n\n');
  });
});
