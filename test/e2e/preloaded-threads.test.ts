// What a process preloads with `--import` reaches the threads of its instances.
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { afterAll, beforeAll, expect, it } from 'vitest';

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tstriton-preload-'));
  const version = join(folder, 'InRepository', '1');
  await mkdir(version, { recursive: true });
  await cp(fixture('preloaded-instance.js'), join(version, 'model.mjs'));
});
afterAll(() => rm(folder, { recursive: true }));

// The second flag is of the whole process: a list of flags for a thread must not name it.
const FLAGS = ['--import', fixture('preload.js'), '--max-old-space-size=512'];

it.each([true, false])('with the server in a thread of its own: %s', { timeout: 60_000 }, async (serverThread) => {
  const program = [fixture('preloading-program.js'), String(serverThread), folder];
  const { stdout } = await promisify(execFile)(process.execPath, [...FLAGS, ...program]);
  expect(JSON.parse(stdout)).toEqual({
    Plain: 'false: preloaded with nothing of its own',
    WithEnv: 'false: preloaded with an environment',
    WithFlags: 'false: undefined',
    InRepository: 'false: preloaded with nothing of its own',
  });
});
