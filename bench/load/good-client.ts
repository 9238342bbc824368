// A client as most are: small requests for inference on a connection that is kept, and now and then a health check on a new
// one. It tells how long the slowest took, and how many failed.

import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import { percentile } from '../statistics.js';

const BODY = JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [1], data: [1] }] });
const PAUSE_MS = 5;
const CHECK_EVERY = 10;
const PATIENCE_MS = 10_000;

export interface GoodFigures {
  readonly requests: number;
  readonly failed: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly worst: number;
}

export class GoodClient {
  readonly #port: number;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #times: number[] = [];
  #failed = 0;
  #stopped = false;
  readonly #ended: Promise<void>;

  constructor(port: number) {
    this.#port = port;
    this.#ended = this.#run();
  }

  async stop(): Promise<GoodFigures> {
    this.#stopped = true;
    await this.#ended;
    this.#agent.destroy();
    const times = this.#times.sort((a, b) => a - b);
    const at = (share: number) => percentile(times, share);
    return { requests: times.length, failed: this.#failed, p50: at(0.5), p99: at(0.99), worst: at(1) };
  }

  async #run(): Promise<void> {
    for (let i = 0; !this.#stopped; i++) {
      const begin = performance.now();
      // oxlint-disable no-await-in-loop -- one after the other
      const status = await (i % CHECK_EVERY === 0
        ? this.#ask('GET', '/v2/health/ready', false)
        : this.#ask('POST', '/v2/models/floats/infer', this.#agent));
      this.#times.push(performance.now() - begin);
      if (status !== 200) this.#failed++;
      await sleep(PAUSE_MS);
      // oxlint-enable no-await-in-loop
    }
  }

  #ask(method: string, path: string, agent: Agent | false): Promise<number> {
    return new Promise((resolve) => {
      const asked = request(
        { host: '127.0.0.1', port: this.#port, method, path, agent, timeout: PATIENCE_MS },
        (answer) => {
          answer.resume();
          answer.on('end', () => resolve(answer.statusCode!));
          answer.on('error', () => resolve(0));
        },
      );
      asked.on('error', () => resolve(0));
      asked.on('timeout', () => asked.destroy(new Error('no answer')));
      asked.end(method === 'POST' ? BODY : undefined);
    });
  }
}
