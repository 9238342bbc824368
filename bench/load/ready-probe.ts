// Asks for health at fixed intervals, whether or not earlier answers have come: a server that stalls is not asked less for
// it. Meanwhile a model is made to spin, or nothing else happens. A latency counts from when its request was
// written; how late this process was to write it is told beside.

import { connect } from 'node:net';
import type { Socket } from 'node:net';

import { SPIN_MODEL, valueRequest } from '../callables-workload.js';
import { askHttp } from '../real-clients.js';
import { percentile } from '../statistics.js';
import { HttpResponseParser } from './http-response-parser.js';

export interface ProbeOrder {
  readonly kind: 'ready';
  /** Default `/v2/health/ready`. */
  readonly path?: string;
  readonly port: number;
  readonly milliseconds: number;
  /** Clients that ask at the same moments, on connections of their own. Default 1. */
  readonly clients?: number;
  /** Whether the model spins for that time. */
  readonly spin: boolean;
}

/** In milliseconds. */
export interface ProbeReport {
  readonly probes: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** p99 of how late the probes were sent. */
  readonly lateness: number;
  /** How long the spinning request took. */
  readonly spun: number;
}

const INTERVAL_MS = 5;

class Lane {
  readonly socket: Socket;
  readonly #parser = new HttpResponseParser();
  readonly #answered: (error?: Error) => void;
  #sentAt = NaN;

  constructor(port: number, done: (lane: Lane, latency: number) => void, failed: (error: Error) => void) {
    this.#answered = (error) => {
      if (error) failed(error);
      else done(this, performance.now() - this.#sentAt);
    };
    this.socket = connect({ host: '127.0.0.1', port, noDelay: true });
    this.socket.on('data', (bytes) => this.#read(bytes));
    this.socket.once('error', (error) => this.#answered(error));
  }

  send(request: Buffer): void {
    this.#sentAt = performance.now();
    this.socket.write(request);
  }

  #read(bytes: Buffer): void {
    try {
      if (this.#parser.read(bytes, 0, bytes.length) === -1) return;
    } catch (error) {
      this.#answered(error as Error);
      return;
    }
    const { status } = this.#parser;
    this.#answered(status === 200 ? undefined : new Error(`ready answered ${status}`));
  }
}

async function spun({ port, milliseconds, spin }: ProbeOrder): Promise<number> {
  const begin = performance.now();
  if (spin) await askHttp(port, `/v2/models/${SPIN_MODEL}/infer`, valueRequest(milliseconds));
  else await new Promise((resolve) => setTimeout(resolve, milliseconds));
  return performance.now() - begin;
}

export function probeReady(order: ProbeOrder): Promise<ProbeReport> {
  const request = Buffer.from(
    `GET ${order.path ?? '/v2/health/ready'} HTTP/1.1\r\nhost: 127.0.0.1:${order.port}\r\n\r\n`,
  );
  return new Promise((resolve, reject) => {
    const lanes: Lane[] = [];
    const free: Lane[] = [];
    const latencies: number[] = [];
    const lateness: number[] = [];
    let unanswered = 0;
    let spunFor = NaN;
    const end = (error?: Error): void => {
      clearInterval(timer);
      for (const lane of lanes) lane.socket.destroy();
      if (error) reject(error);
      const sorted = latencies.sort((a, b) => a - b);
      const [p50, p99, max] = [0.5, 0.99, 1].map((share) => percentile(sorted, share));
      const late = percentile(
        lateness.sort((a, b) => a - b),
        0.99,
      );
      resolve({ probes: sorted.length, p50: p50!, p99: p99!, max: max!, lateness: late, spun: spunFor });
    };
    const answered = (lane: Lane, latency: number): void => {
      latencies.push(latency);
      free.push(lane);
      unanswered--;
      if (!Number.isNaN(spunFor) && unanswered === 0) end();
    };
    const ask = (due: number): void => {
      let lane = free.pop();
      if (!lane) {
        lane = new Lane(order.port, answered, end);
        lanes.push(lane);
      }
      lateness.push(performance.now() - due);
      unanswered++;
      lane.send(request);
    };
    let due = performance.now();
    // A timer of a millisecond, so that the interval is kept by the clock and not by the timer.
    const timer = setInterval(() => {
      for (; due <= performance.now() && Number.isNaN(spunFor); due += INTERVAL_MS) {
        for (let client = 0; client < (order.clients ?? 1); client++) ask(due);
      }
    }, 1);
    spun(order).then((time) => {
      spunFor = time;
      if (unanswered === 0) end();
    }, end);
  });
}
