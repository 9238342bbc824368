// Streams of responses that go on for a while: each is asked for again as soon as it has ended, on a connection of its own.

import { askStream } from './response-stream.js';
import type { StreamOrder } from './response-stream.js';

export interface StreamsOrder {
  readonly kind: 'streams';
  readonly wire: StreamOrder['kind'];
  readonly port: number;
  /** How many at a time, and the responses of each. */
  readonly streams: number;
  readonly count: number;
  readonly milliseconds: number;
}

export interface StreamsReport {
  readonly responses: number;
  readonly responsesPerSecond: number;
  /** Of each stream, the time until its first response, in milliseconds. */
  readonly firstMs: readonly number[];
  /** CPU of this process per second. */
  readonly busy: number;
}

export async function runStreams(order: StreamsOrder): Promise<StreamsReport> {
  const { wire: kind, port, count } = order;
  const firstMs: number[] = [];
  let total = 0;
  const cpu = process.cpuUsage();
  const begin = performance.now();
  const lane = async (): Promise<number> => {
    let responses = 0;
    do {
      firstMs.push((await askStream({ kind, port, count })).firstMs);
      responses += count;
      total += count;
    } while (performance.now() - begin < order.milliseconds);
    // The lanes end at moments of their own.
    return responses / (performance.now() - begin);
  };
  const rates = await Promise.all(Array.from({ length: order.streams }, lane));
  const { user, system } = process.cpuUsage(cpu);
  const busy = (user + system) / 1000 / (performance.now() - begin);
  return { responses: total, responsesPerSecond: rates.reduce((sum, rate) => sum + rate, 0) * 1000, firstMs, busy };
}
