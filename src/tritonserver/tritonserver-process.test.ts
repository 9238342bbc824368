import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { TritonserverProcess } from './tritonserver-process.js';

let folder: string;
let lines: string[] = [];
beforeEach(() => (lines = []));
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'tstriton-process-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a shell script in the place of tritonserver. Resolves when it has printed its first line. */
async function start(script: string, limitSecs = 30): Promise<TritonserverProcess> {
  let process!: TritonserverProcess;
  const began = new Promise<void>((resolve) => {
    const log = (line: string) => {
      lines.push(line);
      resolve();
    };
    const logger = { error: log, warn: log, info: log, verbose: () => undefined };
    const options = { environment: { GREETING: 'hello' }, limitSecs, folder, sharedMemory: 'tstriton-no-such-' };
    process = new TritonserverProcess({
      ...options,
      binary: '/bin/sh',
      flags: ['-c', script],
      logger,
    });
  });
  await began;
  return process;
}

const FOREVER = 'while :; do sleep 0.05; done';

describe('the process of tritonserver', () => {
  it('ends in order at a stop, and its folder with it', async () => {
    const process = await start(`trap 'echo "error: bye $GREETING"; exit 7' TERM; echo begun; ${FOREVER}`);
    await process.stop();
    expect((await process.ended).message).toBe('tritonserver ended with code 7: error: bye hello');
    expect(process.isOver).toBe(true);
    expect(existsSync(folder)).toBe(false);
  });

  it('is killed when it does not end within its limit', async () => {
    const process = await start(`trap '' TERM; echo begun; ${FOREVER}`, 0);
    await process.stop();
    expect((await process.ended).message).toMatch(/^tritonserver ended with code 137/);
    expect(existsSync(folder)).toBe(false);
  });

  it('leaves its folder for the next one when it dies, and takes its children along', async () => {
    const process = await start('(sleep 1000) & echo "$!"; kill -KILL $$');
    const { message } = await process.ended;
    const child = Number(/: ([0-9]+)$/.exec(lines[0]!)![1]);
    expect(message).toMatch(/^tritonserver ended with code 137/);
    expect(existsSync(folder)).toBe(true);
    await expect.poll(() => isAlive(child)).toBe(false);
  });

  it('ends at once where it is told to', async () => {
    const process = await start(`trap '' TERM; echo begun; ${FOREVER}`);
    await process.kill();
    expect((await process.ended).message).toBe('tritonserver ended with SIGKILL: begun');
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
