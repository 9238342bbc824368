// Two processes that SIGTERM ends and that are started again in turns, under load, behind haproxy: no request fails (R7). Requests
// differ, and each answer is checked whole. Some answers are of 1 to 50 MB and are read slowly.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';

import { defineModel } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { type Check, pause, plain } from '../check.js';
import { hasHaproxy, type Ports, startHaproxy } from '../haproxy.js';

const SERVER = fileURLToPath(new URL('../rolled-server.mjs', import.meta.url));
const RESTARTS = 10;
const CALLERS = 4;
const MEGABYTE = 250_000;
const LARGE = [1, 8, 50];
/** A balancer has to see that a server is there again before the other one ends. */
const SETTLE_MILLISECONDS = 1000;
const SLOW_READ_MILLISECONDS = 2;

const negate = defineModel({
  modelName: 'Negate',
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
  config: { batching: false },
});

interface Rolled {
  readonly child: ChildProcess;
  readonly ports: Ports;
}

async function start(ports: Ports = { http: 0, grpc: 0 }): Promise<Rolled> {
  const child = fork(SERVER, [String(ports.http), String(ports.grpc)], { execArgv: [] });
  const [told] = (await once(child, 'message')) as [Ports];
  return { child, ports: told };
}

async function end({ child }: Rolled): Promise<number | string> {
  const exited = once(child, 'exit') as Promise<[number | null, string | null]>;
  child.kill('SIGTERM');
  const [code, signal] = await exited;
  return code ?? signal!;
}

/** No two are alike. */
function values(length: number, seed: number): Float32Array {
  return Float32Array.from({ length }, (_, i) => ((seed * 31 + i) % 8191) + 1);
}

function checkNegated(got: Float32Array, sent: Float32Array): void {
  if (got.length !== sent.length) throw new Error(`expected ${sent.length} numbers, got ${got.length}`);
  const wrong = sent.findIndex((value, i) => got[i] !== -value);
  if (wrong >= 0) throw new Error(`number ${wrong} of ${sent.length} is ${got[wrong]}, expected ${-sent[wrong]!}`);
}

/** Over HTTP, with pauses between the pieces of the answer. */
function askSlowly(port: number, sent: Float32Array, agent: Agent): Promise<void> {
  const head = JSON.stringify({
    inputs: [{ name: 'x', datatype: 'FP32', shape: [sent.length], parameters: { binary_data_size: sent.byteLength } }],
    parameters: { binary_data_output: true },
  });
  const headers = { 'Inference-Header-Content-Length': head.length, 'Content-Length': head.length + sent.byteLength };
  return new Promise((resolve, reject) => {
    const asked = request({ port, agent, method: 'POST', path: '/v2/models/Negate/infer', headers }, (answer) => {
      void (async () => {
        const pieces: Buffer[] = [];
        for await (const piece of answer) {
          pieces.push(piece as Buffer);
          await pause(SLOW_READ_MILLISECONDS);
        }
        if (answer.statusCode !== 200) throw new Error(`status ${answer.statusCode}`);
        const body = Buffer.concat(pieces).subarray(Number(answer.headers['inference-header-content-length']));
        checkNegated(new Float32Array(new Uint8Array(body).buffer), sent);
      })().then(resolve, reject);
    });
    asked.on('error', reject);
    asked.write(head);
    asked.end(new Uint8Array(sent.buffer));
  });
}

export const roll: Check = {
  about: `two processes behind haproxy, ${RESTARTS} restarts by SIGTERM under load, no request tried again, default shutdownDelaySecs`,
  async run() {
    if (!hasHaproxy()) {
      throw new Error("roll needs haproxy, which is not installed: Debian's package haproxy has it");
    }
    const servers = [await start(), await start()];
    const balancer = await startHaproxy(servers.map(({ ports }) => ports));
    await pause(SETTLE_MILLISECONDS);
    const options = { retry: false, maxConcurrency: 64 } as const;
    const clients = [
      new ModelClient(`http://127.0.0.1:${balancer.http}`, negate, options),
      new ModelClient(`grpc://127.0.0.1:${balancer.grpc}`, negate, options),
    ] as const;
    const agent = new Agent({ keepAlive: true });
    const counts = ['HTTP', 'gRPC', 'HTTP, large and read slowly'].map((what) => ({ what, answered: 0, failed: 0 }));
    let seed = 0;
    let isOver = false;
    const ask = async (kind: number, one: () => Promise<void>) => {
      const count = counts[kind]!;
      while (!isOver) {
        await one().then(
          () => count.answered++,
          (error: unknown) => {
            if (count.failed++ < 3) console.error(count.what, error);
          },
        );
      }
    };
    const small = (client: (typeof clients)[number]) => async () => {
      const sent = values(1 + (seed++ % 5000), seed);
      checkNegated((await client.inferSample({ x: sent })).y!.data, sent);
    };
    const large = (megabytes: number) => () => askSlowly(balancer.http, values(megabytes * MEGABYTE, seed++), agent);
    const callers = [
      ...Array.from({ length: 2 * CALLERS }, (_, i) => ask(i % 2, small(clients[i % 2]!))),
      ...LARGE.map((megabytes) => ask(2, large(megabytes))),
    ];
    const codes: (number | string)[] = [];
    for (let i = 0; i < RESTARTS; i++) {
      const { ports } = servers[i % 2]!;
      codes.push(await end(servers[i % 2]!));
      servers[i % 2] = await start(ports);
      await pause(SETTLE_MILLISECONDS);
    }
    isOver = true;
    await Promise.all(callers);
    await Promise.all(clients.map((client) => client.close()));
    agent.destroy();
    balancer.stop();
    for (const server of servers) codes.push(await end(server));
    return [
      {
        what: 'exit codes',
        got: [...new Set(codes)].join(', '),
        wanted: '0',
        isMet: codes.every((code) => code === 0),
      },
      ...counts.flatMap(({ what, answered, failed }) => [
        plain(`${what}: answered`, answered),
        { what: `${what}: failed`, got: String(failed), wanted: '0', isMet: failed === 0 },
      ]),
    ];
  },
};
