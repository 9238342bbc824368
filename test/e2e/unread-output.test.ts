// Nobody reads what the process of a server writes: `server | head -1`, or a supervisor that has stopped reading.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, rmSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

import { describe, expect, it, onTestFinished } from 'vitest';

import type { TritonConfig } from 'tstriton';

import { inferJson } from '../support/start-server.js';
import { temporaryFolder } from '../support/temporary-files.js';

const SERVER = fileURLToPath(new URL('../fixtures/printing-server.js', import.meta.url));
const file = temporaryFolder();
let started = 0;

type Server = ChildProcessByStdio<null, Readable, Readable>;

/** `cut`: called with the process before it has written anything. */
async function serve(config: TritonConfig, cut: (server: Server) => void, stdout: 'pipe' | number = 'pipe') {
  const portFile = file(`port-${started++}`);
  const server = spawn(process.execPath, [SERVER, portFile, JSON.stringify(config)], {
    stdio: ['ignore', stdout, 'pipe'],
  }) as Server;
  const ended = once(server, 'exit').then(([code]) => code as number | null);
  onTestFinished(async () => {
    server.kill('SIGKILL');
    await ended;
  });
  cut(server);
  const read = () => {
    try {
      return Number(readFileSync(portFile, 'utf8'));
    } catch {
      return 0;
    }
  };
  await expect.poll(read, { timeout: 20_000 }).toBeGreaterThan(0);
  const http = `http://localhost:${read()}`;
  return {
    ask: async (x: number) => {
      const { outputs } = await inferJson(http, 'm', [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [x] }]);
      return outputs[0]!.data;
    },
    stop: () => {
      rmSync(portFile);
      return ended;
    },
  };
}

describe.each([{ serverThread: true }, { serverThread: false }])('a server with %o', ({ serverThread }) => {
  it('goes on when both pipes are broken, and says so in its log', async () => {
    const logFile = file(`${started}.log`);
    const server = await serve({ serverThread, logFile }, ({ stdout, stderr }) => {
      stdout.destroy();
      stderr.destroy();
    });
    for (let x = 0; x < 50; x++) expect(await server.ask(x)).toEqual([x]);
    expect(await server.stop()).toBe(0);
    const log = readFileSync(logFile, 'utf8');
    for (const name of ['output', 'error']) {
      expect(log.split(`nobody reads standard ${name} any more (EPIPE)`)).toHaveLength(2);
    }
  });

  it.runIf(existsSync('/dev/full'))('goes on when its output goes to a full disk, and says so in its log', async () => {
    const logFile = file(`${started}.log`);
    const full = openSync('/dev/full', 'w');
    const server = await serve({ serverThread, logFile }, () => undefined, full);
    closeSync(full);
    for (let x = 0; x < 5; x++) expect(await server.ask(x)).toEqual([x]);
    expect(await server.stop()).toBe(0);
    expect(readFileSync(logFile, 'utf8').split('standard output cannot be written (ENOSPC)')).toHaveLength(2);
  });

  it('goes on when nobody reads its log from a pipe', { timeout: 30_000 }, async () => {
    const server = await serve({ serverThread, logVerbose: 9 }, ({ stdout, stderr }) => {
      stdout.resume();
      stderr.pause();
    });
    for (let x = 0; x < 1500; x += 100) {
      const some = Array.from({ length: 100 }, (_, i) => x + i);
      expect(await Promise.all(some.map((each) => server.ask(each)))).toEqual(some.map((each) => [each]));
    }
  });
});
