// What clients and callables do within the calls that a model makes to them, in any order: each request ends once, and nothing is left.

import fc from 'fast-check';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { inferRequest, wireTensor } from '../../test/support/infer-requests.js';
import { fakeTime, type ManualExecution, ManualInstance, pass, TIMES } from '../../test/support/scheduler-harness.js';
import { TritonError } from '../errors.js';
import { completeModelConfig } from '../model/complete-model.js';
import type { ModelConfig } from '../model/model-config.js';
import { ResponseCache } from './cache/response-cache.js';
import type { Execution, ExecutionDone, ExecutionRequest, ExecutionResult } from './instance/model-instance.js';
import { Model } from './model.js';
import type { InflightRequest } from './response-sink.js';

beforeEach(fakeTime);
afterEach(() => void vi.useRealTimers());

const FAILURE = { kind: 'error', error: new TritonError('INTERNAL', 'asked to fail') } as const;
const OUTPUTS = { kind: 'outputs', outputs: [], parameters: undefined } as const;
const LIMITS = { defaultTimeoutMicroseconds: 5000, maxQueueSize: 5 };
/** So many strings are looked at in several turns. */
const MANY = 40_000;

interface Sent {
  ends: number;
  inflight: InflightRequest | undefined;
}

/** A model and all around it, which does what `choose` says. */
class Life {
  readonly model: Model;
  readonly sent: Sent[] = [];
  readonly running: ManualExecution[] = [];
  held = 0;
  readonly #choose: (count: number) => number;
  readonly #config: ModelConfig;
  #instances: ManualInstance[] = [];
  #depth = 0;

  constructor(config: ModelConfig, choose: (count: number) => number) {
    this.#choose = choose;
    this.#config = config;
    const inputs = { x: { dtype: 'string', shape: [-1] } } as const;
    this.model = new Model(completeModelConfig({ modelName: 'm', inputs, outputs: {}, config }, 2), {
      cache: new ResponseCache(1 << 20),
      elementRoom: {
        largest: Infinity,
        take: (bytes) => {
          // The connection that takes the room may be the one that has to make it.
          if (choose(3) === 1) this.#cancel();
          this.held += bytes;
          return choose(4) > 0 || this.#give(bytes);
        },
        give: (bytes) => void this.#give(bytes),
      },
    });
    this.#addInstance();
    this.#addInstance();
  }

  #give(bytes: number): false {
    this.held -= bytes;
    return false;
  }

  #addInstance(): void {
    const instance = new ManualInstance(false, this.#choose(2) === 1);
    const execute = instance.execute.bind(instance);
    instance.execute = (batch: readonly ExecutionRequest[], done: ExecutionDone): Execution => {
      execute(batch, done);
      const execution = instance.last;
      this.running.push(execution);
      this.#within();
      if (this.#choose(4) === 1) this.finish(execution);
      return execution;
    };
    this.#instances.push(instance);
    this.model.addInstance(instance);
  }

  /** An instance ends, with what it runs. Another one comes. */
  #lose(): void {
    const [lost, ...others] = this.#instances;
    this.#instances = others;
    this.model.removeInstance(lost!);
    for (const execution of lost!.executions) this.finish(execution, FAILURE);
    this.#addInstance();
  }

  finish(execution: ManualExecution, result?: ExecutionResult): void {
    const index = this.running.indexOf(execution);
    if (index < 0) return;
    this.running.splice(index, 1);
    const isIterative = this.#config.sequenceBatching?.iterative === true;
    const results = [OUTPUTS, OUTPUTS, FAILURE, isIterative ? ({ kind: 'again' } as const) : OUTPUTS];
    execution.done(
      execution.batch.map(() => result ?? results[this.#choose(4)]!),
      TIMES,
    );
  }

  #send(): void {
    const one: Sent = { ends: 0, inflight: undefined };
    this.sent.push(one);
    const end = () => {
      one.ends++;
      this.#within();
    };
    const words = new Array<string>(this.#choose(12) === 1 ? MANY : 1).fill(`word ${this.#choose(2)}`);
    const id = this.#choose(3);
    const sequence =
      this.#config.sequenceBatching && id > 0
        ? { sequence: { id, start: this.#choose(2) === 0, end: this.#choose(3) === 0 } }
        : {};
    const inputs = [wireTensor('x', 'string', words, [1, words.length])];
    try {
      one.inflight = this.model.infer(inferRequest({ inputs, ...sequence }), {
        respond: end,
        complete: end,
        fail: end,
      });
    } catch {
      one.ends++;
    }
  }

  #cancel(): void {
    this.leave(this.sent.at(-1 - this.#choose(8)));
  }

  /** A client leaves once. */
  leave(one: Sent | undefined): void {
    const inflight = one?.inflight;
    if (one !== undefined) one.inflight = undefined;
    inflight?.cancel();
  }

  /** What a client or a callable does within a call of the model. */
  #within(): void {
    if (this.#depth === 3) return;
    this.#depth++;
    const what = this.#choose(6);
    if (what === 1) this.#send();
    else if (what === 2) this.#cancel();
    this.#depth--;
  }

  step(): void {
    const what = this.#choose(8);
    if (what < 3) this.#send();
    else if (what === 3) this.#cancel();
    else if (what < 6) this.finish(this.running[this.#choose(Math.max(1, this.running.length))]!);
    else if (what === 6 && this.#choose(4) === 0) this.#lose();
    pass(this.#choose(3));
  }
}

it.each<[string, ModelConfig]>([
  ['limits', { batcher: { defaultQueuePolicy: LIMITS } }],
  ['answers in order', { batcher: { preserveOrdering: true, defaultQueuePolicy: LIMITS } }],
  ['a cache', { responseCache: true, batcher: { defaultQueuePolicy: LIMITS } }],
  ['direct sequences', { sequenceBatching: {} }],
  ['the oldest sequences', { sequenceBatching: { strategy: 'oldest' } }],
  ['sequences of steps', { sequenceBatching: { iterative: true } }],
])(
  'A model with %s ends every request once, whatever happens within its calls, and leaves nothing',
  async (_, config) => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(), { minLength: 50, maxLength: 400 }), async (choices) => {
        let next = 0;
        // When all choices are made, nothing happens within calls any more.
        const life = new Life({ maxBatchSize: 4, ...config }, (count) => (choices[next++] ?? 0) % count);
        while (next < choices.length) life.step();
        const { model, sent } = life;
        // All clients leave; a callable may hang.
        for (const one of sent) life.leave(one);
        for (const execution of life.running.slice(choices[0]! % 2)) life.finish(execution, OUTPUTS);
        const drained = vi.fn<() => void>();
        const draining = model.drain().then(drained);
        for (let turns = 0; turns < 30 && drained.mock.calls.length === 0; turns++) {
          pass(50);
          for (let i = 0; i < 5; i++) await Promise.resolve();
        }
        expect(drained).toHaveBeenCalledOnce();
        await draining;
        expect(sent.map(({ ends }) => ends)).toEqual(sent.map(() => 1));
        const { pending } = model.statistics;
        const left = { inflight: model.inflight, pending, live: model.liveSequences, held: life.held };
        expect(left).toEqual({ inflight: 0, pending: 0, live: 0, held: 0 });
        expect(vi.getTimerCount()).toBe(0);
      }),
      { numRuns: 60 },
    );
  },
);
