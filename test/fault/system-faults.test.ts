// What the machine does to a server: disks that are full, clocks that jump, processes that are stopped for a while, little memory, no
// files to open, and networks that delay, cut and reset.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { describe, expect, it, vi } from 'vitest';

import { defineModel, type Triton, type TritonConfig } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { Random } from '../support/random-life/random.js';
import { SEED } from '../support/seed.js';
import { expectAlive, post } from '../support/http-infer.js';
import { RawConnection } from '../support/raw-http.js';
import { startServer } from '../support/start-server.js';
import { temporaryFolder } from '../support/temporary-files.js';

const file = temporaryFolder();
let records = 0;
const RECORDING = fixture('recording-server.js');
const HOARDING = fixture('hoarding-server.js');
const INT = { dtype: 'int32', shape: [1] } as const;
const record = defineModel({
  modelName: 'Record',
  inputs: { x: INT },
  outputs: { y: INT },
  config: { maxBatchSize: 4 },
});
const big = defineModel({
  modelName: 'Big',
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
  config: { batching: false },
});

const hoard = defineModel({
  modelName: 'Hoard',
  inputs: { x: { dtype: 'int32', shape: [1] } },
  outputs: { y: { dtype: 'int32', shape: [1] } },
});

function fixture(name: string): string {
  return fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
}

function bind(triton: Triton): void {
  triton.bind({ ...record, inferFunc: (requests) => requests });
}

async function askedOf(url: string, x: number): Promise<number> {
  await using client = new ModelClient(url, record, { retry: false });
  return (await client.inferSample({ x: [x] })).y!.data[0]!;
}

const HOSTS = [{ serverThread: true }, { serverThread: false }];

describe.each(HOSTS)('with %o', (config) => {
  it.runIf(existsSync('/dev/full'))('a disk that is full for the log and the traces costs no answer', async () => {
    const full: TritonConfig = {
      ...config,
      logFile: '/dev/full',
      logVerbose: 2,
      traceConfig: ['triton,file=/dev/full', 'level=TIMESTAMPS', 'rate=1'],
    };
    await using server = await startServer(bind, full);
    for (let i = 0; i < 20; i++) {
      expect(await askedOf(server.http, i)).toBe(i);
      expect(await askedOf(server.grpc, i)).toBe(i);
    }
    await expectAlive(server.http);
  });
});

describe('a clock that jumps', () => {
  it.each([
    ['a day ahead', 86_400_000],
    ['a day back', -86_400_000],
    ['to its beginning', -Date.now()],
  ])('%s ends nothing early or late, and is followed where the time is told', async (_, jump) => {
    await using server = await startServer(bind, { serverThread: false });
    const config = { maxBatchSize: 1, batcher: { defaultQueuePolicy: { defaultTimeoutMicroseconds: 60_000_000 } } };
    const waiting: (() => void)[] = [];
    server.triton.bind({
      ...record,
      modelName: 'Slow',
      config,
      inferFunc: async (requests) => {
        await new Promise<void>((resolve) => waiting.push(resolve));
        return requests;
      },
    });
    await expect.poll(async () => (await fetch(`${server.http}/v2/models/Slow/ready`)).status).toBe(200);
    const slow = new ModelClient(server.grpc, { ...record, modelName: 'Slow' }, { retry: false, timeoutMs: 60_000 });
    const [running, queued] = [slow.inferSample({ x: [1] }), slow.inferSample({ x: [2] })];
    await expect.poll(() => waiting.length).toBe(1);

    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + jump });
    expect(await askedOf(server.http, 3)).toBe(3);
    const { headers } = await fetch(`${server.http}/v2/health/live`);
    expect(Math.abs(Date.parse(headers.get('date') ?? '') - Date.now())).toBeLessThan(5000);
    waiting.shift()!();
    expect((await running).y!.data[0]).toBe(1);
    await expect.poll(() => waiting.length).toBe(1);
    waiting.shift()!();
    expect((await queued).y!.data[0]).toBe(2);
    vi.useRealTimers();
    await slow.close();
  });
});

/** The recording server in a process of its own, with options of Node's. */
function startProcess(...options: readonly string[]) {
  return startProgram(process.execPath, ...options, RECORDING, '0', '0', file(`record-${records++}`));
}

/** A server that prints its ports, in a process of its own. */
async function startProgram(command: string, ...parameters: readonly string[]) {
  const child = spawn(command, parameters, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const [http, grpc] = line.split(' ');
  return {
    child,
    http: `http://127.0.0.1:${http}`,
    grpc: `grpc://127.0.0.1:${grpc}`,
    async [Symbol.asyncDispose]() {
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
  };
}

describe('a process', () => {
  it('that is stopped under load and goes on later has lost nothing', async () => {
    await using server = await startProcess();
    await using http = new ModelClient(server.http, record, { retry: false });
    await using grpc = new ModelClient(server.grpc, record, { retry: false });
    const asked = (count: number, from: number) =>
      Array.from(
        { length: count },
        async (_, i) => (await [http, grpc][i % 2]!.inferSample({ x: [from + i] })).y!.data[0],
      );
    const before = asked(100, 0);
    await before[0];
    server.child.kill('SIGSTOP');
    const meanwhile = asked(100, 100);
    // Some of them are in its sockets by now; how many does not matter.
    await new Promise((resolve) => setTimeout(resolve, 300));
    server.child.kill('SIGCONT');
    expect(await Promise.all([...before, ...meanwhile])).toEqual(Array.from({ length: 200 }, (_, i) => i));
  });

  it.each(['thread', 'inline'])('with little memory infers on much more than it has, %s', async (host) => {
    const heap = '--max-old-space-size=64';
    await using server = await startProgram(process.execPath, heap, RECORDING, '0', '0', file(`record-${host}`), host);
    const x = Float32Array.from({ length: 1_000_000 }, (_, i) => i % 1000);
    const expected = x.map((one) => one + 1);
    let bytes = 0;
    for (const url of [server.http, server.grpc]) {
      await using client = new ModelClient(url, big, { retry: false });
      const one = async () => {
        const { y } = await client.inferSample({ x });
        expect(Buffer.compare(asBytes(y!.data as Float32Array), asBytes(expected))).toBe(0);
        bytes += x.byteLength + y!.data.byteLength;
      };
      for (let i = 0; i < 10; i++) await Promise.all([one(), one(), one()]);
    }
    // Of JSON everything is in the heap.
    const data = Array.from(x.subarray(0, 100_000));
    const plus = data.map((one) => one + 1);
    const body = JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [data.length], data }] });
    for (let i = 0; i < 60; i++) {
      const answer = await post(server.http, 'Big', body);
      expect(answer.json.outputs[0]!.data!.join()).toBe(plus.join());
    }
    expect(bytes).toBe(60 * 8_000_000);
    // Had it kept them, it would have that much more than an idle one, which is some 80 MB.
    expect(peakOf(server.child.pid!)).toBeLessThan(bytes);
    expect(await askedOf(server.grpc, 5)).toBe(5);
  });
});

function asBytes({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** The most memory that a process has had, in bytes; 0 where the system does not tell. */
function peakOf(pid: number): number {
  if (process.platform !== 'linux') return 0;
  return 1024 * Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);
}

// Elsewhere than on Unix nothing limits the files of a process.
describe.runIf(process.platform !== 'win32').each(['thread', 'inline'])(
  'a process that can open no more files, %s',
  (host) => {
    it('serves on the connections that it has, says so once, and takes new ones when it can', async () => {
      const log = file(`hoard-${host}`);
      const run = `ulimit -n 128; exec "$0" "$@"`;
      await using server = await startProgram('bash', '-c', run, process.execPath, HOARDING, host, log);
      const ports = [server.http, server.grpc].map((url) => Number(new URL(url).port));
      await using http = new ModelClient(server.http, hoard, { retry: false });
      await using grpc = new ModelClient(server.grpc, hoard, { retry: false });
      const ask = async (client: typeof http, x: number) => (await client.inferSample({ x: [x] })).y!.data[0]!;
      for (const client of [http, grpc]) expect(await ask(client, 0)).toBe(0);

      const taken = await ask(grpc, 1);
      expect(taken).toBeGreaterThan(10);
      for (const port of ports) {
        await using late = await RawConnection.open(port);
        await late.closed();
      }
      const said = () => readFileSync(log, 'utf8').match(/no more files can be opened \(EMFILE\)/g)?.length;
      await expect.poll(said).toBe(1);
      for (let i = 0; i < 20; i++) for (const client of [http, grpc]) expect(await ask(client, 1)).toBe(taken);
      // Who is refused is so each time, and each time it is no news.
      for (const url of [server.http, server.grpc]) {
        await using late = new ModelClient(url, hoard, { retry: false });
        await expect(ask(late, 0)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
      }

      expect(await ask(http, 0)).toBe(taken);
      for (const url of [server.http, server.grpc]) {
        await using late = new ModelClient(url, hoard, { retry: false });
        expect(await ask(late, 0)).toBe(0);
      }
      await expectAlive(server.http);
      expect(said()).toBe(1);
    });
  },
);

/** A network between clients and a port: it waits before it hands on, and now and then resets or cuts a connection. */
async function badNetwork(port: number, random: Random) {
  const open = new Set<Socket>();
  let broken = 0;
  const proxy = createServer((client) => {
    const server = connect(port, '127.0.0.1');
    const ends = [client, server] as const;
    for (const [i, socket] of ends.entries()) {
      const other = ends[1 - i]!;
      open.add(socket);
      socket
        .on('error', () => undefined)
        .on('close', () => {
          open.delete(socket);
          other.destroy();
        });
      let last = Promise.resolve();
      socket.on('data', (bytes: Buffer) => {
        const deed = random.weighted({ on: 80, late: 15, pieces: 10, reset: 1, half: 1 });
        if (deed === 'reset' || deed === 'half') broken++;
        last = last.then(async () => {
          if (deed === 'late') await new Promise((resolve) => setTimeout(resolve, random.integer(1, 10)));
          if (deed === 'half') other.write(bytes.subarray(0, bytes.length >> 1));
          if (deed === 'reset' || deed === 'half')
            return void (other.writableEnded ? other.destroy() : other.resetAndDestroy());
          if (deed !== 'pieces') return void other.write(bytes);
          for (let at = 0; at < bytes.length; at += 7) {
            other.write(bytes.subarray(at, at + 7));
            if (at % 70 === 0) await new Promise((resolve) => setImmediate(resolve));
          }
        });
      });
    }
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return {
    port: (proxy.address() as AddressInfo).port,
    get broken() {
      return broken;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}

const WIRES = ['http', 'grpc'] as const;

describe.each(HOSTS.flatMap((host) => WIRES.map((wire) => ({ ...host, wire }))))(
  'a bad network with %o',
  ({ wire, ...config }) => {
    it('costs requests time, but gives nobody the answer of another', async () => {
      await using server = await startServer(bind, config);
      await using network = await badNetwork(Number(new URL(server[wire]).port), new Random(SEED));
      const retry = { idempotent: true, maxAttempts: 50, initialBackoffMs: 1, maxBackoffMs: 20 } as const;
      await using client = new ModelClient(`${wire}://127.0.0.1:${network.port}`, record, { retry, timeoutMs: 60_000 });
      const count = 300;
      let next = 0;
      const answers: number[] = [];
      const one = async () => {
        // Some seeds break nothing so soon.
        while (next < count || network.broken === 0) {
          const x = next++;
          answers[x] = (await client.inferSample({ x: [x] })).y!.data[0]!;
        }
      };
      await Promise.all(Array.from({ length: 8 }, one));
      expect(answers).toEqual(Array.from({ length: next }, (_, i) => i));
      expect(await askedOf(server[wire], 7)).toBe(7);
      const metrics = await (await fetch(server.metrics)).text();
      expect(metrics).toMatch(/nv_inference_pending_request_count\{model="Record",version="1"\} 0/);
    });
  },
);
