// A Node process of a test's own: what it writes, and how it ends. It is killed after the test that started it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

import { expect, onTestFinished } from 'vitest';

export interface WatchedProcess {
  /** All that it has written so far, to both streams. */
  readonly output: string;
  /** Resolves when it has written that. */
  wrote(text: string): Promise<void>;
  kill(signal: NodeJS.Signals): void;
  /** Resolves to its exit code, or to the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
}

export function watchedProcess(args: readonly string[]): WatchedProcess {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals);
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return {
    get output() {
      return output;
    },
    wrote: async (text) => {
      await expect.poll(() => output).toContain(text);
    },
    kill: (signal) => void child.kill(signal),
    ended,
  };
}
