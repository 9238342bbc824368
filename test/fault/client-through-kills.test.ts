// The failure story: the server is killed under load, by SIGKILL, and started again on the same ports a moment later. Clients go on
// with what they have: requests that may be executed twice are all answered, and no other is ever executed twice.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { defineModel } from 'tstriton';
import { ModelClient, TritonConnectionError, type CallTimings, type RetryOptions } from 'tstriton/client';

import { temporaryFolder } from '../support/temporary-files.js';

const PROGRAM = fileURLToPath(new URL('../fixtures/recording-server.js', import.meta.url));
const file = temporaryFolder();

const record = defineModel({
  modelName: 'Record',
  inputs: { x: { dtype: 'int32', shape: [1] } },
  outputs: { y: { dtype: 'int32', shape: [1] } },
  config: { maxBatchSize: 4 },
  strict: true,
});

interface Ports {
  readonly http: number;
  readonly grpc: number;
}

async function start(path: string, ports: Ports): Promise<{ readonly ports: Ports; kill(): Promise<void> }> {
  const child: ChildProcess = spawn(process.execPath, [PROGRAM, String(ports.http), String(ports.grpc), path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
  const [http = 0, grpc = 0] = line.split(' ').map(Number);
  return {
    ports: { http, grpc },
    async kill() {
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
  };
}

function executed(path: string): number[] {
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean).map(Number) : [];
}

const LINES = 8;
const CALLS = 60;
const KILLS = 2;

/** What clients saw of a server that was killed under them, and what the server did. */
interface Outcome {
  readonly begun: number;
  readonly answered: ReadonlySet<number>;
  /** Answers to other questions. */
  readonly mixedUp: number;
  readonly failures: readonly unknown[];
  /** Requests that were sent again. */
  readonly again: number;
  /** How often each was executed. */
  readonly runs: ReadonlyMap<number, number>;
  /** Of Node's: listeners that pile up are one. */
  readonly warnings: readonly string[];
}

async function throughKills(protocol: 'http' | 'grpc', idempotent: boolean): Promise<Outcome> {
  const path = file(`record-${protocol}-${idempotent}`);
  let server = await start(path, { http: 0, grpc: 0 });
  const { ports } = server;
  const retry: RetryOptions = { maxAttempts: 1000, initialBackoffMs: 10, maxBackoffMs: 50, idempotent };
  const warnings: string[] = [];
  const warned = ({ message }: Error) => void warnings.push(message);
  process.on('warning', warned);
  const client = new ModelClient(`${protocol}://127.0.0.1:${ports[protocol]}`, record, { retry });
  try {
    let [begun, mixedUp, again, stopped] = [0, 0, 0, false];
    const failures: unknown[] = [];
    const answered = new Set<number>();
    const onTimings = ({ attempt }: CallTimings) => void (again += attempt > 1 ? 1 : 0);
    const line = async () => {
      // Long enough for all kills, and then a while.
      for (let calls = 0; !stopped || calls < CALLS; calls++) {
        const x = begun++;
        try {
          const { y } = await client.inferSample([Int32Array.of(x)], { onTimings });
          if (y.data[0] !== x) mixedUp++;
          answered.add(x);
        } catch (error) {
          failures.push(error);
        }
      }
    };
    const lines = Array.from({ length: LINES }, line);
    const executesMore = async () => {
      const before = executed(path).length;
      await expect.poll(() => executed(path).length).toBeGreaterThan(before + 20);
    };
    for (let kills = 0; kills < KILLS; kills++) {
      await executesMore();
      await server.kill();
      server = await start(path, ports);
    }
    await executesMore();
    stopped = true;
    await Promise.all(lines);
    const runs = new Map<number, number>();
    for (const x of executed(path)) runs.set(x, (runs.get(x) ?? 0) + 1);
    return { begun, answered, mixedUp, failures, again, runs, warnings };
  } finally {
    process.off('warning', warned);
    await client.close();
    await server.kill();
  }
}

describe.each(['http', 'grpc'] as const)(
  'a client over %s of a server that is killed and started again',
  (protocol) => {
    it('executes nothing twice, and fails only what nobody knows of', async () => {
      const { answered, mixedUp, failures, again, runs, warnings } = await throughKills(protocol, false);
      expect(warnings).toEqual([]);
      expect([...answered].filter((x) => runs.get(x) !== 1)).toEqual([]);
      expect([...runs].filter(([, count]) => count !== 1)).toEqual([]);
      expect(failures.filter((error) => !TritonConnectionError.is(error) || !error.requestSent)).toEqual([]);
      expect(mixedUp).toBe(0);
      expect(again).toBeGreaterThan(0);
    });

    it('gets every answer to what may be executed twice', async () => {
      const { begun, answered, mixedUp, failures, again, runs } = await throughKills(protocol, true);
      expect(failures).toEqual([]);
      expect(answered.size).toBe(begun);
      expect([...answered].filter((x) => !runs.has(x))).toEqual([]);
      expect(mixedUp).toBe(0);
      expect(again).toBeGreaterThan(0);
    });
  },
);
