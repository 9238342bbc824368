// A server in a container of 512 MiB, by a control group of the kernel, which kills a process that takes more. Clients send 384 MB
// at once, of which the server would hold up to three copies. With its default options it refuses what it has no room for, and lives.
// `MEMORY_GROUPS` names the folder of control groups in which the test makes one: `/sys/fs/cgroup/memory`, or that of version 2, with
// the controller for memory on.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { TritonError } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { temporaryFolder } from '../support/temporary-files.js';

const GROUPS = process.env['MEMORY_GROUPS'];
const RECORDING = fileURLToPath(new URL('../fixtures/recording-server.js', import.meta.url));
const LIMIT_BYTES = 512 * 2 ** 20;
/** The model's answer is as large as the request. */
const ELEMENTS = 4_000_000;
const AT_ONCE = 24;
const REFUSAL = 'the requests of all clients together hold too many bytes: try again later';
const file = temporaryFolder();

function limitedGroup() {
  const folder = join(GROUPS!, `tstriton-${process.pid}`);
  mkdirSync(folder);
  const v1 = existsSync(join(folder, 'memory.limit_in_bytes'));
  writeFileSync(join(folder, v1 ? 'memory.limit_in_bytes' : 'memory.max'), String(LIMIT_BYTES));
  return {
    processes: join(folder, 'cgroup.procs'),
    peak: () => Number(readFileSync(join(folder, v1 ? 'memory.max_usage_in_bytes' : 'memory.peak'), 'utf8')),
    [Symbol.dispose]: () => rmdirSync(folder),
  };
}

describe.runIf(GROUPS !== undefined).each(['thread', 'inline'])('a server with 512 MiB, %s', (host) => {
  it.each(['http', 'grpc'] as const)(
    'lives though clients send more than fits over %s, and answers what it has room for',
    async (wire) => {
      using group = limitedGroup();
      // The shell goes into the group, and becomes the server.
      const into = 'echo $$ > "$0" && exec "$@"';
      const server = [process.execPath, RECORDING, '0', '0', file(`record-${host}-${wire}`), host];
      const child = spawn('/bin/sh', ['-c', into, group.processes, ...server], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const exit = once(child, 'exit');
      try {
        const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
        const [http, grpc] = line.split(' ');
        const url = wire === 'http' ? `http://127.0.0.1:${http}` : `grpc://127.0.0.1:${grpc}`;
        await using client = new ModelClient(url, 'Big', { retry: false });
        const outcomes = await Promise.all(
          Array.from({ length: AT_ONCE }, async (_, i) => {
            try {
              const { y } = await client.inferSample({ x: new Float32Array(ELEMENTS).fill(i) });
              return (y!.data as Float32Array).every((value) => value === i + 1) ? 'answered' : `mixed up: ${i}`;
            } catch (error) {
              return TritonError.from(error).message;
            }
          }),
        );
        expect(outcomes.filter((outcome) => outcome !== 'answered' && outcome !== REFUSAL)).toEqual([]);
        expect(outcomes).toContain('answered');
        expect(outcomes).toContain(REFUSAL);
        // The load is over: there is room again.
        const { y } = await client.inferSample({ x: Float32Array.of(41) });
        expect(y!.data[0]).toBe(42);
        expect(child.exitCode ?? child.signalCode).toBeNull();
        expect(group.peak()).toBeLessThan(LIMIT_BYTES);
      } finally {
        child.kill('SIGKILL');
        await exit;
      }
    },
  );
});
