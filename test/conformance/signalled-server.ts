// Servers in processes of their own that get signals while requests are under way, and what became of both.
import { fork, type ChildProcess } from 'node:child_process';
import { get } from 'node:http';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

import { callJson } from '../support/grpc-service.js';
import { inferText } from './lifecycle-cases.js';

const SCRIPT = fileURLToPath(new URL('../fixtures/signalled-server.js', import.meta.url));
const BODY = { inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }] };

interface SignalledRun {
  readonly how: string;
  readonly signal: NodeJS.Signals;
  readonly inFlight: number;
}

/** `200 of 1: 1 … exit 0`: what the requests under way were answered, and how the process ended. */
export async function signalServer({ how, signal, inFlight }: SignalledRun): Promise<string> {
  await using server = await Server.start(how);
  const answers: Promise<string>[] = [];
  for (let i = 0; i < inFlight; i++)
    answers.push(server.infer().then(({ status, body }) => (status === 0 ? 'unanswered' : inferText(status, body))));
  if (inFlight > 0) {
    await server.began;
    await server.waiting(inFlight - 1);
  }
  server.child.kill(signal);
  await server.notReady();
  server.release();
  return [...(await Promise.all(answers)), 'exit', await server.exited].join(' ');
}

/** What a request gets whose callable cannot go on, in which time, and how the process ends. */
export async function failServer(how: string) {
  await using server = await Server.start(how, 'fails');
  const from = performance.now();
  const answer = await server.infer();
  const seconds = (performance.now() - from) / 1000;
  server.release();
  return { ...answer, seconds, exitCode: await server.exited };
}

class Server implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly began: Promise<void>;
  /** The code, or the negative number of the signal. */
  readonly exited: Promise<number>;
  #ports!: { readonly http: number; readonly metrics: number };

  static async start(how: string, ...more: readonly string[]): Promise<Server> {
    const server = new Server(how, more);
    server.#ports = await new Promise((resolve, reject) => {
      server.child.on('message', (message) => 'http' in (message as object) && resolve(message as never));
      void server.exited.then((code) => reject(new Error(`the server ended with ${code} before it was ready`)));
    });
    return server;
  }

  private constructor(how: string, more: readonly string[]) {
    this.child = fork(SCRIPT, [how, ...more], { execArgv: [], stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
    this.exited = new Promise((resolve) =>
      this.child.once('exit', (code, signal) => resolve(code ?? -constants.signals[signal!])),
    );
    this.began = new Promise((resolve) =>
      this.child.on('message', (message) => 'began' in (message as object) && resolve()),
    );
  }

  /** Status 0 is no answer. */
  async infer(): Promise<{ readonly status: number; readonly body: string }> {
    try {
      const [status, body] = await callJson(`http://127.0.0.1:${this.#ports.http}/v2/models/Slow/infer`, BODY);
      return { status, body: JSON.stringify(body) };
    } catch {
      return { status: 0, body: '' };
    }
  }

  /** Resolves when so many requests wait for the one that runs. */
  async waiting(count: number): Promise<void> {
    for (let seen = ''; seen !== String(count);) {
      const text = await (await fetch(`http://127.0.0.1:${this.#ports.metrics}/metrics`)).text();
      seen = /^nv_inference_pending_request_count\{[^}]*\} (\d+)/m.exec(text)?.[1] ?? '';
    }
  }

  /** Resolves when the server takes no new requests. */
  async notReady(): Promise<void> {
    while ((await this.#readiness()) === 200);
  }

  /** Status 0 is no answer. Not by fetch: that of Node 20 may wait for ever when its new connection is closed at once. */
  #readiness(): Promise<number> {
    return new Promise((resolve) => {
      const options = { host: '127.0.0.1', port: this.#ports.http, path: '/v2/health/ready', agent: false };
      get(options, (answer) => answer.resume().once('close', () => resolve(answer.statusCode ?? 0))).once('error', () =>
        resolve(0),
      );
    });
  }

  /** Lets requests go on, and the process end; it may have ended already. */
  release(): void {
    if (this.child.connected) this.child.send('go', () => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill('SIGKILL');
    await this.exited;
  }
}
