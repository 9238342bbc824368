// A few of the recorded scheduling scenarios in real time, through HTTP and gRPC and a callable in another thread. All
// of them, in simulated time, are in test/conformance.
import { isDeepStrictEqual } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';

import { batch, TritonError, type Triton } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { readCases, type Arrival, type SchedulerCase } from '../conformance/cases.js';
import { recordedOutcomeOf } from '../conformance/recorded-outcomes.js';
import { modelConfigOf } from '../conformance/scheduler-simulator.js';
import { startServer, type RunningServer } from '../support/start-server.js';

/** All moments and durations are so many times the recorded ones: a busy machine is late by some milliseconds. */
const SLOWER = 3;

const CHOSEN = [
  'none-burst',
  'dyn-rows-3-2-1-4-1',
  'dyn-burst-mixed-frontends',
  'dyn-error-whole-batch',
  'dyn-cancel-in-second-batch',
  'delay500-3-then-2',
  'pref4-delay-3-2',
  'shape-alternating',
  'shape-delay-change',
  'optional-mixed',
  'instances-different-times',
  'priority-three-levels',
  'priority-rows-mix',
  'size2-http',
  'delayed-burst',
  'levels-delay-fallback',
  'cache-serial',
  'cache-hit-while-busy',
];

/** The id of requests that open the connections before the first moment. */
const WARM_UP = 'warm-up';

interface Played {
  /** `id×rows` of each batch, in the order of their beginnings. */
  readonly batches: string[];
  readonly answers: Record<string, string>;
}

const cases = readCases<SchedulerCase>('scheduler/scenarios.jsonl').filter(({ name }) => CHOSEN.includes(name));
const played = new Map<string, Played>();

function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** The model of a scenario. Its input `arrival` has the number of the arrival, or its data where it shares that. */
function specOf(testCase: SchedulerCase) {
  const { inputs, outputs } = modelConfigOf(testCase);
  return {
    modelName: testCase.name,
    inputs: Object.fromEntries(inputs.map(({ name, dtype, shape, optional }) => [name, { dtype, shape, optional }])),
    outputs: Object.fromEntries(outputs.map(({ name, dtype, shape }) => [name, { dtype, shape }])),
  };
}

function bindScenario(triton: Triton, testCase: SchedulerCase): void {
  const { maxBatchSize, dynamicBatching, responseCache, instanceCount } = modelConfigOf(testCase);
  const { batches } = played.get(testCase.name)!;
  const slow = <T extends object>(policy: T): T =>
    Object.fromEntries(
      Object.entries(policy).map(([name, value]) => [name, name.endsWith('Microseconds') ? SLOWER * value : value]),
    ) as T;
  const callable = batch(async ({ x }, context) => {
    const ids = context.requests.map(({ id }) => id);
    if (ids.includes(WARM_UP)) return { y: x! };
    const arrivals = ids.map((id) => testCase.arrivals.find((arrival) => arrival.id === id)!);
    batches.push(arrivals.map(({ id, rows }) => `${id}×${rows}`).join(' '));
    await wait(SLOWER * Math.max(...arrivals.map(({ run_ms: runMs }) => runMs)));
    if (arrivals.some(({ fails }) => fails)) throw new TritonError('INTERNAL', 'asked to fail');
    return { y: x! };
  });
  triton.bind({
    ...specOf(testCase),
    config: {
      maxBatchSize,
      responseCache,
      batcher:
        dynamicBatching === undefined
          ? null
          : ({
              ...slow(dynamicBatching),
              ...(dynamicBatching.defaultQueuePolicy && {
                defaultQueuePolicy: slow(dynamicBatching.defaultQueuePolicy),
              }),
              priorityQueuePolicy: Object.fromEntries(
                Object.entries(dynamicBatching.priorityQueuePolicy).map(([level, policy]) => [level, slow(policy)]),
              ),
            } as never),
    },
    inferFunc: Array.from({ length: instanceCount }, () => callable) as never,
  });
}

async function play(server: RunningServer, testCase: SchedulerCase, begin: Promise<void>): Promise<void> {
  const { answers } = played.get(testCase.name)!;
  const spec = specOf(testCase);
  const clients = { http: new ModelClient(server.http, spec), grpc: new ModelClient(server.grpc, spec) };
  const controllers = new Map(testCase.arrivals.map(({ id }) => [id, new AbortController()]));
  const ask = async (arrival: Arrival): Promise<void> => {
    const { id, rows, length = 2, data, priority, timeout_us: timeout, via } = arrival;
    await wait(SLOWER * arrival.at_ms);
    const value = data ?? 1000 + testCase.arrivals.indexOf(arrival);
    const inputs = inputsOf(value, { rows, length, optional: arrival.optional_input ?? false });
    const parameters = {
      ...(priority === undefined ? {} : { priority }),
      ...(timeout === undefined ? {} : { timeout }),
    };
    let outcome = 'ok';
    try {
      const { signal } = controllers.get(id)!;
      await clients[via === 'http' ? 'http' : 'grpc'].inferBatch(inputs, { requestId: id, parameters, signal });
    } catch (error) {
      const { code, message } = TritonError.from(error);
      outcome = code === 'CANCELLED' ? 'cancelled' : `${code} ${message}`;
    }
    // Those on a stream are recorded apart; here they are calls like the others.
    if (via !== 'stream') answers[id] = outcome;
  };
  const cancel = async ({ at_ms: at, cancel: id }: { readonly at_ms: number; readonly cancel?: string }) => {
    await wait(SLOWER * at);
    if (id !== undefined) controllers.get(id)!.abort();
  };
  const shape = { rows: 1, length: 2, optional: false };
  await Promise.all(
    [clients.http, clients.grpc].map((client, i) => client.inferBatch(inputsOf(-i, shape), { requestId: WARM_UP })),
  );
  await begin;
  await Promise.all([...testCase.arrivals.map(ask), ...(testCase.events ?? []).map(cancel)]);
  await Promise.all([clients.http.close(), clients.grpc.close()]);
}

function inputsOf(value: number, { rows, length, optional }: { rows: number; length: number; optional: boolean }) {
  const tensor = (width: number) => Array.from({ length: rows }, () => Array.from({ length: width }, () => value));
  return { x: tensor(length), arrival: tensor(1), ...(optional ? { z: tensor(1) } : {}) };
}

describe('recorded scenarios in real time', () => {
  beforeAll(async () => {
    // A busy machine may be later than all tolerance: what differs is played again.
    for (let left = cases, attempt = 1; left.length > 0 && attempt <= 3; attempt++) {
      await playAll(left);
      left = left.filter(
        (testCase) => !recordedOf(testCase).some((recorded) => isDeepStrictEqual(recorded, played.get(testCase.name))),
      );
    }
  }, 60_000);

  it.each(CHOSEN)('%s', (name) => {
    expect(recordedOf(cases.find((testCase) => testCase.name === name)!)).toContainEqual(played.get(name));
  });
});

async function playAll(chosen: readonly SchedulerCase[]): Promise<void> {
  for (const { name } of chosen) played.set(name, { batches: [], answers: {} });
  const bindAll = (triton: Triton) => chosen.forEach((testCase) => bindScenario(triton, testCase));
  await using server = await startServer(bindAll, { responseCacheByteSize: 1 << 20 });
  // When the longest delay of a warm-up is over, and not all at the same moment.
  await Promise.all(chosen.map((testCase, index) => play(server, testCase, wait(1500 + 50 * index))));
}

function recordedOf(testCase: SchedulerCase): readonly Played[] {
  const { seen, seen_varies: varies = [] } = testCase;
  const sound = seen === undefined ? varies.filter(({ idle_while_waiting_ms: idle }) => idle === undefined) : [seen];
  return sound
    .map((each) => recordedOutcomeOf(testCase, each))
    .map(({ executions, answers }) => ({
      batches: executions.map(({ batch: ids }) => ids.replaceAll('!', '')),
      answers: Object.fromEntries(
        Object.entries(answers).map(([id, { outcome, text }]) => [
          id,
          text === undefined ? outcome : `${outcome} ${text}`,
        ]),
      ),
    }));
}
