import { describe, expect, it } from 'vitest';

import type { LogEntry } from '../logger.js';
import { DescriptorSink } from './log-sink.js';

/** A pipe with room for so many bytes. */
class Pipe {
  room = Infinity;
  text = '';
  readonly sink = new DescriptorSink(2, 'standard error', ((_: number, bytes: Buffer) => {
    if (this.room <= 0) throw Object.assign(new Error('resource temporarily unavailable'), { code: 'EAGAIN' });
    const taken = bytes.subarray(0, Math.min(bytes.length, this.room));
    this.room -= taken.length;
    this.text += taken.toString();
    return taken.length;
  }) as never);

  log(message: string): this {
    this.sink.write({ level: 'info', message, format: 'default' } satisfies LogEntry);
    return this;
  }

  get lines(): string[] {
    return this.text.split('\n').map((line) => line.replace(/^([A-Z]).*?\] /, '$1 '));
  }
}

describe('lines that a pipe does not take', () => {
  it('are counted, and told when it takes some again', () => {
    const pipe = new Pipe().log('one');
    pipe.room = 0;
    pipe.log('two').log('three');
    pipe.room = Infinity;
    pipe.log('four').log('five');
    const told = 'W lines of the log were lost because standard error could not take them: 2';
    expect(pipe.lines).toEqual(['I one', told, 'I four', 'I five', '']);
  });

  it('do not cut the line of which it has taken the beginning', () => {
    const pipe = new Pipe();
    pipe.room = 10;
    pipe.log('one').log('two');
    expect(pipe.text).toHaveLength(10);
    pipe.room = Infinity;
    pipe.log('three');
    expect(pipe.lines.map((line) => line.slice(0, 30))).toEqual([
      'I one',
      'W lines of the log were lost bec',
      'I three',
      '',
    ].map((line) => line.slice(0, 30))); // prettier-ignore
  });
});
