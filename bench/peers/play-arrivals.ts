// Sends a workload's requests to one server, each at its moment: what became of them, and what the server counted.

import { TritonError } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import type { BatchingArrival } from './arrivals.js';
import { specOf } from './batching-workloads.js';
import type { BatchingWorkload } from './batching-workloads.js';
import type { ServerPorts } from './our-batching-server.js';
import { countersSince, settledCounters } from './server-counters.js';
import type { ModelCounters } from './server-counters.js';

export type Fate = 'answered' | 'full' | 'timeout' | 'refused' | 'cancelled';

export interface Outcome {
  readonly arrival: BatchingArrival;
  readonly fate: Fate;
  /** From the moment that the request was due. */
  readonly ms: number;
  /** How many outcomes the client had before this one. */
  readonly place: number;
  /** The execution that it came from, where it came from one. */
  readonly execution: bigint | undefined;
  /** What it asks had been answered before it was sent. */
  readonly answeredBefore: boolean;
}

export interface Played {
  /** In the order in which the requests were sent. */
  readonly outcomes: readonly Outcome[];
  readonly counters: ModelCounters;
}

export async function play(ports: ServerPorts, workload: BatchingWorkload): Promise<Played> {
  await using client = new ModelClient(`grpc://127.0.0.1:${ports.grpc}`, specOf(workload));
  // No run asks what another one has asked, so that it finds no answers in a cache. Seconds of a few days are exact.
  const run = 1 + (Math.floor(Date.now() / 1000) % 2 ** 20);
  const known = new Set<number>();
  let outcomes = 0;

  const ask = async (arrival: BatchingArrival, dueAt: number): Promise<Outcome> => {
    const { rows, priority, question, fails, cancelAfterMs } = arrival;
    const asked = [question, fails ? -run : run];
    const x = Float32Array.from({ length: 2 * rows }, (_, i) => asked[i % 2]!);
    const answeredBefore = known.has(question);
    const cancelled = cancelAfterMs === undefined ? {} : { signal: AbortSignal.timeout(cancelAfterMs) };
    const end = (fate: Fate, execution: bigint | undefined): Outcome => {
      return { arrival, fate, ms: performance.now() - dueAt, place: outcomes++, execution, answeredBefore };
    };
    try {
      const answer = await client.inferBatch({ x }, { parameters: { priority }, ...cancelled });
      known.add(question);
      return end('answered', answer.execution!.data[0]!);
    } catch (error) {
      const { code, message } = TritonError.from(error);
      const execution = /refused by execution (\d+)/.exec(message)?.[1];
      if (execution !== undefined) return end('refused', BigInt(execution));
      if (message.endsWith('Exceeds maximum queue size')) return end('full', undefined);
      if (message === 'Request timeout expired') return end('timeout', undefined);
      if (code === 'CANCELLED') return end('cancelled', undefined);
      throw error;
    }
  };

  // The connection, and code that has run before.
  const first = { atMs: 0, rows: 1, priority: 2, question: 0, fails: false, cancelAfterMs: undefined };
  for (let i = 0; i < 20; i++) await ask({ ...first, question: -1 - i }, performance.now());
  const before = await settledCounters(ports, workload.name);

  const startedAt = performance.now() + 20;
  const sent: Promise<Outcome>[] = [];
  for (const arrival of workload.arrivals) {
    const dueAt = startedAt + arrival.atMs;
    const early = dueAt - performance.now();
    if (early > 0.5) await new Promise((resolve) => setTimeout(resolve, early));
    sent.push(ask(arrival, dueAt));
  }
  const all = await Promise.all(sent);
  return { outcomes: all, counters: countersSince(before, await settledCounters(ports, workload.name)) };
}
