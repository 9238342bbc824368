import { describe, expect, it } from 'vitest';

import { threadFlags } from './thread-flags.js';

describe('the flags of a thread', () => {
  it('are the process’s, which Node knows', () => {
    expect(threadFlags(undefined, ['--import', './otel.mjs', '--max-old-space-size=200'])).toBeUndefined();
  });

  it('are none where the program is given as text, because no thread starts with a flag about text', () => {
    expect(threadFlags(undefined, ['--input-type=module', '-e', '0'])).toEqual([]);
    expect(threadFlags(undefined, ['--input-type', 'module', '-e', '0'])).toEqual([]);
  });

  it('are the given ones in their place', () => {
    expect(threadFlags(['--no-warnings'], ['--import', './otel.mjs'])).toEqual(['--no-warnings']);
    expect(threadFlags([], ['--import', './otel.mjs'])).toEqual([]);
  });
});
