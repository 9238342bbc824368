// A few of the recorded scheduling scenarios through a whole server: its sockets are real, its time is not. All of them, on
// the engine alone, are in test/conformance.
import { setImmediate as turn } from 'node:timers/promises';

import { afterEach, describe, expect, it, vi } from 'vitest';

import { batch, TritonError, type Triton } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { readCases, type Arrival, type SchedulerCase } from '../conformance/cases.js';
import { recordedOutcomeOf } from '../conformance/recorded-outcomes.js';
import { modelConfigOf } from '../conformance/scheduler-simulator.js';
import type { ServedCore } from '../../dist/frontend/served-core.js';
import { startServer, type RunningServer } from '../support/start-server.js';
// Its own module, to see requests arrive.
import { LocalServer } from '../../dist/server/server-handle.js';

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

function bindScenario(triton: Triton, testCase: SchedulerCase, { batches }: Played): void {
  const { maxBatchSize, dynamicBatching, responseCache, instanceCount } = modelConfigOf(testCase);
  const callable = batch(async ({ x }, context) => {
    const ids = context.requests.map(({ id }) => id);
    if (ids.includes(WARM_UP)) return { y: x! };
    const arrivals = ids.map((id) => testCase.arrivals.find((arrival) => arrival.id === id)!);
    batches.push(arrivals.map(({ id, rows }) => `${id}×${rows}`).join(' '));
    await wait(Math.max(...arrivals.map(({ run_ms: runMs }) => runMs)));
    if (arrivals.some(({ fails }) => fails)) throw new TritonError('INTERNAL', 'asked to fail');
    return { y: x! };
  });
  triton.bind({
    ...specOf(testCase),
    config: {
      maxBatchSize,
      responseCache,
      batcher: dynamicBatching ?? null,
    } as never,
    inferFunc: Array.from({ length: instanceCount }, () => callable) as never,
  });
}

/** Time stands still, and goes on to the next moment when all that was to happen at this one has happened. */
class StandingTime {
  #sent = 0;
  #arrived = 0;

  constructor(core: ServedCore) {
    const infer = core.infer.bind(core);
    vi.spyOn(core, 'infer').mockImplementation((...given) => {
      this.#arrived++;
      return infer(...given);
    });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  }

  /** Sends a request, and takes note of it. */
  sends<T>(request: () => Promise<T>): Promise<T> {
    this.#sent++;
    return request();
  }

  /** Lets time pass until this is over. */
  async until<T>(task: Promise<T>): Promise<T> {
    let over = false;
    const settled = task.finally(() => (over = true));
    for (;;) {
      await this.#settle();
      if (over) return settled;
      vi.advanceTimersToNextTimer();
    }
  }

  async #settle(): Promise<void> {
    for (let rounds = 0; rounds === 0 || this.#arrived < this.#sent; rounds++) {
      if (rounds > MOST_ROUNDS) throw new Error(`of ${this.#sent} requests ${this.#arrived} arrived`);
      for (let i = 0; i < TURNS; i++) await turn();
    }
  }
}

/** More turns of the event loop than anything takes from a request's arrival to its client's answer. */
const TURNS = 30;
/** Far more than a request takes to arrive. */
const MOST_ROUNDS = 100_000;

interface Playing {
  readonly server: RunningServer;
  readonly core: ServedCore;
}

/** Starts a server, and looks into it. */
async function startSeen(...given: Parameters<typeof startServer>): Promise<Playing> {
  const seen = vi.spyOn(LocalServer.prototype, 'start');
  const server = await startServer(...given);
  return { server, core: (seen.mock.contexts[0] as LocalServer).inProcess.core };
}

async function play({ server, core }: Playing, testCase: SchedulerCase, { answers }: Played): Promise<void> {
  const time = new StandingTime(core);
  const spec = specOf(testCase);
  // Triton's clients sent each request once.
  const once = { retry: false } as const;
  const clients = { http: new ModelClient(server.http, spec, once), grpc: new ModelClient(server.grpc, spec, once) };
  const controllers = new Map(testCase.arrivals.map(({ id }) => [id, new AbortController()]));
  const ask = async (arrival: Arrival): Promise<void> => {
    const { id, rows, length = 2, data, priority, timeout_us: timeout, via } = arrival;
    await wait(arrival.at_ms);
    const value = data ?? 1000 + testCase.arrivals.indexOf(arrival);
    const inputs = inputsOf(value, { rows, length, optional: arrival.optional_input ?? false });
    const parameters = {
      ...(priority === undefined ? {} : { priority }),
      ...(timeout === undefined ? {} : { timeout }),
    };
    const { signal } = controllers.get(id)!;
    const client = clients[via === 'http' ? 'http' : 'grpc'];
    let outcome = 'ok';
    try {
      await time.sends(() => client.inferBatch(inputs, { requestId: id, parameters, signal }));
    } catch (error) {
      const { code, message } = TritonError.from(error);
      outcome = code === 'CANCELLED' ? 'cancelled' : `${code} ${message}`;
    }
    // Those on a stream are recorded apart; here they are calls like the others.
    if (via !== 'stream') answers[id] = outcome;
  };
  const cancel = async ({ at_ms: at, cancel: id }: { readonly at_ms: number; readonly cancel?: string }) => {
    await wait(at);
    if (id !== undefined) controllers.get(id)!.abort();
  };
  const shape = { rows: 1, length: 2, optional: false };
  const warmUp = (client: typeof clients.http, index: number) =>
    time.sends(() => client.inferBatch(inputsOf(-index, shape), { requestId: WARM_UP }));
  await time.until(Promise.all([clients.http, clients.grpc].map(warmUp)));
  await time.until(Promise.all([...testCase.arrivals.map(ask), ...(testCase.events ?? []).map(cancel)]));
  vi.useRealTimers();
  await Promise.all([clients.http.close(), clients.grpc.close()]);
}

function inputsOf(value: number, { rows, length, optional }: { rows: number; length: number; optional: boolean }) {
  const tensor = (width: number) => Array.from({ length: rows }, () => Array.from({ length: width }, () => value));
  return { x: tensor(length), arrival: tensor(1), ...(optional ? { z: tensor(1) } : {}) };
}

describe('recorded scenarios through a whole server', () => {
  afterEach(() => void vi.useRealTimers());

  it.each(CHOSEN)('%s', async (name) => {
    const testCase = cases.find((one) => one.name === name)!;
    const played: Played = { batches: [], answers: {} };
    const options = { serverThread: false, responseCacheByteSize: 1 << 20 };
    const playing = await startSeen((triton) => bindScenario(triton, testCase, played), options);
    await using _ = playing.server;
    await play(playing, testCase, played);
    expect(recordedOf(testCase)).toContainEqual(played);
  });
});

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
