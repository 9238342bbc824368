import { afterEach, describe, expect, it, vi } from 'vitest';

import { answerHead, type CommonLines } from './answer-head.js';

const LINES: CommonLines = { beforeDate: 'A: 1\r\n', behindDate: 'B: 2\r\n' };

function expected(status: string, headers: string, { beforeDate, behindDate }: CommonLines): string {
  return `HTTP/1.1 ${status}\r\n${headers}${beforeDate}Date: ${new Date().toUTCString()}\r\n${behindDate}\r\n`;
}

describe('the head of an answer', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it('is its own, whatever was answered before it', () => {
    vi.useFakeTimers({ now: 1e12 });
    const headers = [['X', 'a'], ['X', 'b'], ['Y', 'a'], ['X', 'a', 'Y', 'b'], []];
    const lines = [LINES, { ...LINES, beforeDate: '' }, { ...LINES, behindDate: '' }];
    for (const one of headers) {
      for (const other of headers) {
        for (const common of lines) {
          for (const [status, text] of [
            [200, '200 OK'],
            [404, '404 Not Found'],
          ] as const) {
            const own = other.map((name, i) => (i % 2 === 0 ? `${name}: ${other[i + 1]}\r\n` : '')).join('');
            answerHead(200, one, LINES);
            for (let i = 0; i < 2; i++) expect(answerHead(status, other, common)).toBe(expected(text, own, common));
          }
        }
      }
    }
  });

  it('has the date of its second', () => {
    vi.useFakeTimers({ now: 1e12 });
    for (let i = 0; i < 3; i++) {
      expect(answerHead(200, ['X', 'a'], LINES)).toBe(expected('200 OK', 'X: a\r\n', LINES));
      vi.advanceTimersByTime(700);
    }
  });

  it('does not change with the list that the one before was made of', () => {
    vi.useFakeTimers({ now: 1e12 });
    const headers = ['X', 'a'];
    answerHead(200, headers, LINES);
    headers[1] = 'b';
    expect(answerHead(200, headers, LINES)).toBe(expected('200 OK', 'X: b\r\n', LINES));
  });

  it('is refused with a header that would begin another one, each time', () => {
    for (let i = 0; i < 2; i++)
      expect(() => answerHead(200, ['X', 'a\r\nY: b'], LINES)).toThrow('a header of an answer');
  });
});
