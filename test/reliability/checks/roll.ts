// Two processes that SIGTERM ends and that are started again in turns, under load, behind haproxy: no request fails (R7). Requests
// differ, and each answer is checked whole. Some answers are of 1 to 50 MB and are read slowly. Without haproxy the clients go to the
// servers themselves, and to the other one where nobody listens.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';

import { defineModel } from 'tstriton';
import { ModelClient, TritonConnectionError } from 'tstriton/client';

import { type Check, type Figure, pause, plain } from '../check.js';
import { hasHaproxy, haproxyVersion, type Ports, startHaproxy } from '../haproxy.js';

const SERVER = fileURLToPath(new URL('../rolled-server.mjs', import.meta.url));
const RESTARTS = 10;
const CALLERS = 4;
const MEGABYTE = 250_000;
const LARGE = [1, 8, 50];
/** A balancer has to see that a server is there again before the other one ends. */
const SETTLE_MILLISECONDS = 1000;
const SLOW_READ_MILLISECONDS = 2;
/** Numbers between two pauses of the client. */
const PIECE = 100_000;
const SHOWN_FAILURES = 3;

const negate = defineModel({
  modelName: 'Negate',
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
  config: { batching: false },
});

const connect = (url: string) => new ModelClient(url, negate, { retry: false, maxConcurrency: 64 });
type Client = ReturnType<typeof connect>;

interface Rolled {
  readonly child: ChildProcess;
  readonly ports: Ports;
}

async function start(serverThread: boolean, { http, grpc }: Ports = { http: 0, grpc: 0 }): Promise<Rolled> {
  const child = fork(SERVER, [http, grpc, serverThread].map(String), { execArgv: [] });
  const [told] = (await once(child, 'message')) as [Ports];
  return { child, ports: told };
}

async function end({ child }: Rolled): Promise<number | string> {
  const exited = once(child, 'exit') as Promise<[number | null, string | null]>;
  child.kill('SIGTERM');
  const [code, signal] = await exited;
  return code ?? signal!;
}

/**
 * Work on so many numbers, with pauses. A client that is busy for half a second after it has connected finds the connection closed
 * when the server stops meanwhile, and one that is busy does not see either that a kept connection was closed.
 */
async function inPieces(length: number, work: (i: number) => void): Promise<void> {
  for (let i = 0; i < length; i++) {
    work(i);
    // oxlint-disable-next-line no-await-in-loop -- one piece after the other
    if (i % PIECE === PIECE - 1) await new Promise((resolve) => setImmediate(resolve));
  }
}

/** No two are alike. */
async function values(length: number, seed: number): Promise<Float32Array> {
  const made = new Float32Array(length);
  await inPieces(length, (i) => (made[i] = ((seed * 31 + i) % 8191) + 1));
  return made;
}

async function checkNegated(got: Float32Array, sent: Float32Array): Promise<void> {
  if (got.length !== sent.length) throw new Error(`expected ${sent.length} numbers, got ${got.length}`);
  await inPieces(sent.length, (i) => {
    if (got[i] !== -sent[i]!) throw new Error(`number ${i} of ${sent.length} is ${got[i]}, expected ${-sent[i]!}`);
  });
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
        await checkNegated(new Float32Array(new Uint8Array(body).buffer), sent);
      })().then(resolve, reject);
    });
    asked.on('error', reject);
    asked.write(head);
    asked.end(new Uint8Array(sent.buffer));
  });
}

/** Whether nobody listens there: the request has not been sent. */
function isUnreachable(error: unknown): boolean {
  if (TritonConnectionError.is(error)) return !error.requestSent;
  return (error as { readonly code?: unknown }).code === 'ECONNREFUSED';
}

/** What callers ask: a balancer, or servers of which one may be away. */
class Target {
  /** Between its end and its being ready again: a balancer would know. */
  isAway = false;
  readonly #ports: Ports;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #http: Client;
  readonly #grpc: Client;

  constructor(ports: Ports) {
    this.#ports = ports;
    this.#http = connect(`http://127.0.0.1:${ports.http}`);
    this.#grpc = connect(`grpc://127.0.0.1:${ports.grpc}`);
  }

  http = (sent: Float32Array) => checkSample(this.#http, sent);
  grpc = (sent: Float32Array) => checkSample(this.#grpc, sent);
  slowly = (sent: Float32Array) => askSlowly(this.#ports.http, sent, this.#agent);

  async close(): Promise<void> {
    await Promise.all([this.#http.close(), this.#grpc.close()]);
    this.#agent.destroy();
  }
}

type Way = 'http' | 'grpc' | 'slowly';

const WAYS: Readonly<Record<Way, string>> = { http: 'HTTP', grpc: 'gRPC', slowly: 'HTTP, large and read slowly' };

async function checkSample(client: Client, sent: Float32Array): Promise<void> {
  await checkNegated((await client.inferSample({ x: sent })).y!.data, sent);
}

/** Callers that ask without a pause until they are told to stop. */
class Load {
  readonly #targets: readonly Target[];
  readonly #counts = { http: [0, 0], grpc: [0, 0], slowly: [0, 0] } as Record<Way, [answered: number, failed: number]>;
  readonly #callers: readonly Promise<void>[];
  #seed: number;
  #isOver = false;

  constructor(targets: readonly Target[], seed: number) {
    this.#targets = targets;
    this.#seed = seed;
    const small = () => 1 + (this.#seed % 5000);
    this.#callers = [
      ...Array.from({ length: CALLERS }, () => [this.#call('http', small), this.#call('grpc', small)]).flat(),
      ...LARGE.map((megabytes) => this.#call('slowly', () => megabytes * MEGABYTE)),
    ];
  }

  async stop(): Promise<readonly Figure[]> {
    this.#isOver = true;
    await Promise.all(this.#callers);
    await Promise.all(this.#targets.map((target) => target.close()));
    return (Object.keys(WAYS) as Way[]).flatMap((way) => {
      const [answered, failed] = this.#counts[way];
      return [
        plain(`${WAYS[way]}: answered`, answered),
        { what: `${WAYS[way]}: failed`, got: String(failed), wanted: '0', isMet: failed === 0 },
      ];
    });
  }

  async #call(way: Way, size: () => number): Promise<void> {
    const count = this.#counts[way];
    while (!this.#isOver) {
      const number = this.#seed++;
      try {
        await this.#ask(way, await values(size(), number), number);
        count[0]++;
      } catch (error) {
        if (count[1]++ < SHOWN_FAILURES) console.error(WAYS[way], error);
      }
    }
  }

  async #ask(way: Way, sent: Float32Array, number: number): Promise<void> {
    const there = this.#targets.filter(({ isAway }) => !isAway);
    for (let tried = 1; ; tried++) {
      try {
        await there[(number + tried) % there.length]![way](sent);
        return;
      } catch (error) {
        if (tried >= there.length || !isUnreachable(error)) throw error;
      }
    }
  }
}

function roll(serverThread: boolean): Check {
  return {
    about: `two processes behind haproxy, ${RESTARTS} restarts by SIGTERM under load, no retries, default shutdownDelaySecs, serverThread: ${serverThread}`,
    async run({ seed }) {
      const servers = [await start(serverThread), await start(serverThread)];
      const ports = servers.map((server) => server.ports);
      const balancer = hasHaproxy() ? await startHaproxy(ports) : undefined;
      if (balancer === undefined) {
        console.log(
          "haproxy is not installed (Debian's package haproxy has it): the clients go to the servers themselves",
        );
      }
      await pause(SETTLE_MILLISECONDS);
      const targets = (balancer === undefined ? ports : [balancer]).map((one) => new Target(one));
      const load = new Load(targets, seed);
      const codes: (number | string)[] = [];
      for (let i = 0; i < RESTARTS; i++) {
        const target = balancer === undefined ? targets[i % 2] : undefined;
        codes.push(await end(servers[i % 2]!));
        if (target !== undefined) target.isAway = true;
        servers[i % 2] = await start(serverThread, ports[i % 2]);
        if (target !== undefined) target.isAway = false;
        await pause(SETTLE_MILLISECONDS);
      }
      const figures = await load.stop();
      balancer?.stop();
      for (const server of servers) codes.push(await end(server));
      return [
        plain('in front of the servers', balancer === undefined ? 'nothing' : `haproxy ${haproxyVersion()}`),
        {
          what: `exit codes of ${codes.length} ends`,
          got: [...new Set(codes)].join(', '),
          wanted: '0',
          isMet: codes.every((code) => code === 0),
        },
        ...figures,
      ];
    },
  };
}

export const rollWithThread = roll(true);
export const rollWithoutThread = roll(false);
