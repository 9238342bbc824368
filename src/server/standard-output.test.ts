import { EventEmitter } from 'node:events';

import { describe, expect, it } from 'vitest';

import { StandardOutput } from './standard-output.js';

function started() {
  const streams = { stdout: new EventEmitter(), stderr: new EventEmitter() };
  const output = new StandardOutput(() => streams as never);
  const lines: string[] = [];
  const watch = (name: string) => output.watch({ warn: (line) => void lines.push(`${name}: ${line}`) });
  const fail = (key: 'stdout' | 'stderr', code: string) =>
    streams[key].emit('error', Object.assign(new Error(code), { code }));
  return { lines, watch, fail };
}

describe('standard output that nobody reads any more', () => {
  it('is told once for each stream, to the servers that run', () => {
    const { lines, watch, fail } = started();
    const leave = watch('first');
    watch('second');
    leave();
    for (let i = 0; i < 3; i++) fail('stdout', 'EPIPE');
    fail('stderr', 'EPIPE');
    expect(lines).toEqual(
      ['output', 'error'].map(
        (name) =>
          `second: nobody reads standard ${name} any more (EPIPE): what callables print there is lost, and the server goes on`,
      ),
    );
  });

  it('ends nothing when it breaks after the last server has stopped', () => {
    const { watch, fail } = started();
    watch('only')();
    expect(() => fail('stdout', 'EPIPE')).not.toThrow();
  });

  it('ends nothing where the disk is full, either', () => {
    const { lines, watch, fail } = started();
    watch('only');
    for (let i = 0; i < 3; i++) fail('stdout', 'ENOSPC');
    expect(lines).toEqual([
      'only: standard output cannot be written (ENOSPC): what callables print there is lost, and the server goes on',
    ]);
  });
});
