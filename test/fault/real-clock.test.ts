// The machine's clock jumps under a server, forward, back and to its beginning: libfaketime moves the clock of the whole process,
// its threads included. Durations are told by the other clock, as where somebody sets the time. `.ci/run` fetches the library.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { defineModel } from 'tstriton';
import { ModelClient, ServerClient } from 'tstriton/client';

import { temporaryFolder } from '../support/temporary-files.js';

const LIBRARY = process.env['LIBFAKETIME'] ?? '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1';
const RECORDING = fileURLToPath(new URL('../fixtures/recording-server.js', import.meta.url));
const file = temporaryFolder();
const INT = { dtype: 'int32', shape: [1] } as const;
const record = defineModel({
  modelName: 'Record',
  inputs: { x: INT },
  outputs: { y: INT },
  config: { maxBatchSize: 4 },
  strict: true,
});
const JUMPS = ['+1d', '-1d', '@1970-01-02 00:00:00', '+10y', '+0'];
const DAY_MS = 86_400_000;

describe.runIf(existsSync(LIBRARY)).each(['thread', 'inline'])('a machine whose clock jumps, %s', (host) => {
  it('executes each request once, none too early or too late, and tells the new time', async () => {
    const clock = file(`clock-${host}`);
    const set = (to: string) => {
      // Whole, whenever the process reads it.
      writeFileSync(`${clock}.new`, to);
      renameSync(`${clock}.new`, clock);
    };
    set('+0');
    const executed = file(`executed-${host}`);
    const child = spawn(process.execPath, [RECORDING, '0', '0', executed, host], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        ...process.env,
        LD_PRELOAD: LIBRARY,
        FAKETIME_TIMESTAMP_FILE: clock,
        FAKETIME_NO_CACHE: '1',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      },
    });
    try {
      const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
      const [http, grpc] = line.split(' ');
      const urls = [`http://127.0.0.1:${http}`, `grpc://127.0.0.1:${grpc}`];
      const options = { retry: false, timeoutMs: 60_000 } as const;
      const clients = urls.map((url) => new ModelClient(url, record, options));
      let asked = 0;
      const ask = async () => {
        const x = asked++;
        const { y } = await clients[x % 2]!.inferSample({ x: [x] });
        expect(y.data[0]).toBe(x);
      };
      const seen: number[] = [];
      for (const jump of JUMPS) {
        const before = Array.from({ length: 40 }, ask);
        set(jump);
        await Promise.all([...before, ...Array.from({ length: 40 }, ask)]);
        const { headers } = await fetch(`${urls[0]}/v2/health/live`);
        seen.push((Date.parse(headers.get('date') ?? '') - Date.now()) / DAY_MS);
      }
      const sinceBeginning = -Date.now() / DAY_MS + 1;
      for (const [i, days] of [1, -1, sinceBeginning, 3652, 0].entries()) {
        expect(Math.abs(seen[i]! - days)).toBeLessThan(2.1);
        expect(Math.sign(seen[i]!) === Math.sign(days) || days === 0).toBe(true);
      }
      const values = readFileSync(executed, 'utf8').trim().split('\n').map(Number);
      expect(values.sort((a, b) => a - b)).toEqual(Array.from({ length: asked }, (_, i) => i));
      await using server = new ServerClient(urls[1]!);
      const [{ inferenceStats } = {}] = await server.statistics('Record');
      expect(inferenceStats!.success!.count).toBe(asked);
      // No duration followed the clock: all of them together are less than an hour.
      expect(inferenceStats!.success!.ns).toBeLessThan(3.6e12);
      await Promise.all(clients.map((client) => client.close()));
    } finally {
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    }
  });
});
