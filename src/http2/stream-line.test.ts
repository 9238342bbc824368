import { describe, expect, it } from 'vitest';
import { StreamLine, type Waiting } from './stream-line.js';

class Waiter implements Waiting<Waiter> {
  readonly name: string;
  line: StreamLine<Waiter> | undefined;
  ahead: Waiter | undefined;
  behind: Waiter | undefined;

  constructor(name: string) {
    this.name = name;
  }
}

function lineOf(names: string): { line: StreamLine<Waiter>; waiters: Waiter[] } {
  const line = new StreamLine<Waiter>();
  const waiters = Array.from(names, (name) => new Waiter(name));
  for (const waiter of waiters) line.join(waiter);
  return { line, waiters };
}

function drain(line: StreamLine<Waiter>): string {
  let names = '';
  for (let first = line.first; first !== undefined; first = line.first) {
    names += first.name;
    line.leave(first);
  }
  return names;
}

describe('StreamLine', () => {
  it('serves in the order of joining', () => {
    expect(drain(lineOf('abc').line)).toBe('abc');
  });

  it.each([
    ['a', 'bcd'],
    ['b', 'acd'],
    ['d', 'abc'],
    ['ad', 'bc'],
    ['abcd', ''],
  ])('lets %s leave from where they stand', (leaving, rest) => {
    const { line, waiters } = lineOf('abcd');
    for (const waiter of waiters) if (leaving.includes(waiter.name)) line.leave(waiter);
    expect(waiters.map((waiter) => waiter.line === line)).toEqual(Array.from('abcd', (name) => rest.includes(name)));
    expect(drain(line)).toBe(rest);
  });

  it('takes those who left again, at its end', () => {
    const { line, waiters } = lineOf('ab');
    line.leave(waiters[0]!);
    line.join(waiters[0]!);
    expect(drain(line)).toBe('ba');
    line.join(waiters[1]!);
    expect(drain(line)).toBe('b');
  });
});
