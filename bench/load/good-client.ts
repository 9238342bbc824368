// A client as most are: small requests for inference over HTTP and gRPC, now and then one of 2 MB, and a health check on a
// connection of its own. No request equals another, and each answer is compared with its request. It tells how long the small ones
// took, and how many of all failed.

import { request } from 'node:http';
import { request as requestSecurely } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';

import { ModelClient } from 'tstriton/client';

import { percentile } from '../statistics.js';

const PAUSE_MS = 5;
const CHECK_EVERY = 10;
const LARGE_EVERY = 51;
/** Numbers of FP32, at least. */
const SMALL = 1;
const LARGE = 500_000;
const LENGTHS = 97;
const PATIENCE_MS = 10_000;

export interface GoodFigures {
  readonly requests: number;
  readonly failed: number;
  /** Why the first of these failed. */
  readonly reason: string | undefined;
  /** Milliseconds, of small requests. */
  readonly p50: number;
  readonly p99: number;
  readonly worst: number;
}

export interface GoodPorts {
  readonly http: number;
  readonly grpc: number;
  /** Of both, in PEM form. Default: they are without TLS. */
  readonly ca?: string | undefined;
}

export class GoodClient {
  readonly #ports: GoodPorts;
  readonly #clients: readonly ModelClient[];
  readonly #times: number[] = [];
  #requests = 0;
  #failed = 0;
  #reason: string | undefined;
  #stopped = false;
  readonly #ended: Promise<void>;

  /** Asks the model `floats`, which gives back what it gets, as `x` and `y`. */
  constructor(ports: GoodPorts) {
    this.#ports = ports;
    const { http, grpc, ca } = ports;
    const secure = ca === undefined ? '' : 's';
    const options = { retry: false, timeoutMs: PATIENCE_MS, ...(ca === undefined ? {} : { tls: { ca } }) } as const;
    const urls = [`http${secure}://127.0.0.1:${http}`, `grpc${secure}://127.0.0.1:${grpc}`];
    this.#clients = urls.map((url) => new ModelClient(url, 'floats', options));
    this.#ended = this.#run();
  }

  async stop(): Promise<GoodFigures> {
    this.#stopped = true;
    await this.#ended;
    await Promise.all(this.#clients.map((client) => client.close()));
    const times = this.#times.sort((a, b) => a - b);
    const at = (share: number) => percentile(times, share);
    const counts = { requests: this.#requests, failed: this.#failed, reason: this.#reason };
    return { ...counts, p50: at(0.5), p99: at(0.99), worst: at(1) };
  }

  async #run(): Promise<void> {
    for (let i = 0; !this.#stopped; i++) {
      const isLarge = i % LARGE_EVERY === 0;
      const begin = performance.now();
      // oxlint-disable no-await-in-loop -- one after the other
      try {
        await (i % CHECK_EVERY === 1 ? this.#check() : this.#ask(i, isLarge ? LARGE : SMALL));
      } catch (error) {
        this.#failed++;
        this.#reason ??= `${isLarge ? 'a large request' : 'a small request or a check'}: ${(error as Error).message}`;
      }
      if (!isLarge) this.#times.push(performance.now() - begin);
      this.#requests++;
      await sleep(PAUSE_MS);
      // oxlint-enable no-await-in-loop
    }
  }

  async #ask(number: number, least: number): Promise<void> {
    const x = Float32Array.from({ length: least + (number % LENGTHS) }, (_, i) => i + number);
    const { y } = await this.#clients[number % 2]!.inferSample({ x }, { requestId: String(number) });
    const { data } = y as { readonly data: Float32Array };
    const isItsOwn = data.length === x.length && x.every((value, i) => data[i] === value);
    if (!isItsOwn) throw new Error('the answer to another request came');
  }

  #check(): Promise<void> {
    const { http, ca } = this.#ports;
    return new Promise((resolve, reject) => {
      const where = { host: '127.0.0.1', port: http, path: '/v2/health/ready', ca };
      const ask = ca === undefined ? request : requestSecurely;
      const asked = ask({ ...where, agent: false, timeout: PATIENCE_MS }, (answer) => {
        answer.resume();
        answer.on('end', () => {
          if (answer.statusCode === 200) resolve();
          else reject(new Error(`HTTP ${answer.statusCode}`));
        });
        answer.on('error', reject);
      });
      asked.on('error', reject);
      asked.on('timeout', () => asked.destroy(new Error('no answer')));
      asked.end();
    });
  }
}
