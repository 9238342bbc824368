import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { inferRequest, wireTensor } from '../../../test/support/infer-requests.js';
import { fakeTime, pass, TIMES } from '../../../test/support/scheduler-harness.js';
import { TritonError } from '../../errors.js';
import { completeModelConfig } from '../../model/complete-model.js';
import type { InferTensor, ModelInferRequest } from '../../model/exchange.js';
import type { ModelConfig } from '../../model/model-config.js';
import { SILENT } from '../engine-logger.js';
import type { Execution, ExecutionDone, ExecutionRequest, ModelInstance } from '../instance/model-instance.js';
import { Model } from '../model.js';
import type { InflightRequest, ResponseSink } from '../response-sink.js';
import { ResponseCache } from './response-cache.js';

/** Answers each request with its own input, when the test says so. */
class EchoInstance implements ModelInstance, Execution {
  readonly batches: string[] = [];
  readonly cancelled: number[] = [];
  /** Called while an execution begins. */
  onBegin: (() => void) | undefined;
  /** The outputs of the last execution. */
  outputs: InferTensor[] = [];
  #finish: ((error?: TritonError) => void) | undefined;

  execute(batch: readonly ExecutionRequest[], done: ExecutionDone): Execution {
    this.batches.push(batch.map(({ id }) => id).join(''));
    const given = batch.map(({ inputs }) => inputs[0]!);
    this.onBegin?.();
    this.#finish = (error) => {
      this.outputs = given.map((input) => ({ ...input, name: 'y', bytes: input.bytes.slice() }));
      done(
        this.outputs.map((output) =>
          error === undefined
            ? { kind: 'outputs', outputs: [output], parameters: undefined, memory: output.bytes.buffer as ArrayBuffer }
            : { kind: 'error', error },
        ),
        TIMES,
      );
    };
    return this;
  }

  cancel(index: number): void {
    this.cancelled.push(index);
  }

  finish(error?: TritonError): void {
    this.#finish?.(error);
    pass();
  }
}

const FAILURE = new TritonError('INTERNAL', 'asked to fail');

class CachedModel {
  readonly instance = new EchoInstance();
  readonly model: Model;
  readonly warnings: string[] = [];
  /** `a ok 1`, `b CANCELLED`, …, in the order of the answers. */
  readonly answers: string[] = [];
  readonly cache: ResponseCache;

  constructor(config: ModelConfig = {}, cache = new ResponseCache(1 << 20)) {
    this.cache = cache;
    const spec = {
      modelName: 'm',
      inputs: { x: { dtype: 'uint8', shape: [-1] } },
      outputs: { y: { dtype: 'uint8', shape: [-1] }, z: { dtype: 'uint8', shape: [1] } },
      config: { responseCache: true, ...config },
    } as const;
    const logger = { ...SILENT, warn: (message: string) => void this.warnings.push(message) };
    this.model = new Model(completeModelConfig(spec, 1), { cache, logger });
    this.model.addInstance(this.instance);
  }

  /** Asks with one byte for its data. */
  send(id: string, byte: number, given: Partial<ModelInferRequest> & { sink?: ResponseSink } = {}): InflightRequest {
    const { sink, ...request } = given;
    const inputs = [wireTensor('x', 'uint8', Uint8Array.of(byte), [1, 1])];
    return this.model.infer(inferRequest({ id, inputs, ...request }), sink ?? this.#sink(id));
  }

  #sink(id: string): ResponseSink {
    return {
      respond: (response) => void this.answers.push(`${response.id} ok ${response.outputs[0]!.bytes.join()}`),
      complete: () => void this.answers.push(`${id} complete`),
      fail: ({ code, message }) => void this.answers.push(`${id} ${code}${message && ` ${message}`}`),
    };
  }

  get counts() {
    const { success, fail, queue, computeInfer, cacheHit, cacheMiss } = this.model.statistics;
    const count = ({ count }: { readonly count: number }) => count;
    return {
      success: count(success),
      fail: count(fail),
      queue: count(queue),
      computed: count(computeInfer),
      hits: count(cacheHit),
      misses: count(cacheMiss),
    };
  }
}

beforeEach(fakeTime);
afterEach(() => void vi.useRealTimers());

describe('a model with a response cache', () => {
  it("says that memory is an answer's own only where no other answer lies there too", () => {
    const cached = new CachedModel();
    const memories: (string | undefined)[] = [];
    const sink = (id: string): ResponseSink => ({
      respond: ({ outputs, memory }) =>
        void memories.push(memory === undefined ? id : `${id} ${memory === outputs[0]!.bytes.buffer}`),
      complete: () => undefined,
      fail: () => undefined,
    });
    cached.send('leads', 1, { sink: sink('leads') });
    cached.send('follows', 1, { sink: sink('follows') });
    pass();
    cached.instance.finish();
    cached.send('hits', 1, { sink: sink('hits') });
    cached.send('refuses', 1, { sink: sink('refuses'), parameters: { response_cache: false } });
    pass();
    cached.instance.finish();
    expect(memories).toEqual(['leads', 'follows', 'hits', 'refuses true']);
  });

  it('runs ten identical requests once, one after the other', () => {
    const cached = new CachedModel();
    cached.send('a', 1);
    pass();
    cached.instance.finish();
    for (const id of 'bcdefghij') cached.send(id, 1);
    expect(cached.instance.batches).toEqual(['a']);
    expect(cached.answers).toEqual(Array.from('abcdefghij', (id) => `${id} ok 1`));
    expect(cached.counts).toEqual({ success: 10, fail: 0, queue: 10, computed: 1, hits: 9, misses: 1 });
  });

  it('runs ten identical requests once, all at the same time', () => {
    const cached = new CachedModel();
    for (const id of 'abcdefghij') cached.send(id, 1);
    pass();
    cached.instance.finish();
    expect(cached.instance.batches).toEqual(['a']);
    expect(cached.answers).toEqual(Array.from('abcdefghij', (id) => `${id} ok 1`));
    expect(cached.counts).toEqual({ success: 10, fail: 0, queue: 10, computed: 1, hits: 9, misses: 1 });
    expect(cached.model.inflight).toBe(0);
  });

  it('answers from the cache at once, while the instance is busy and the queue is full', () => {
    const cached = new CachedModel({ batcher: { defaultQueuePolicy: { maxQueueSize: 1 } } });
    cached.send('a', 1);
    pass();
    cached.instance.finish();
    cached.send('b', 2);
    pass();
    cached.send('c', 3);
    cached.send('d', 4);
    cached.send('e', 1);
    expect(cached.answers).toEqual(['a ok 1', 'd UNAVAILABLE [request id: d] Exceeds maximum queue size', 'e ok 1']);
  });

  it('runs requests with other data, parameters or requested outputs', () => {
    const cached = new CachedModel({ maxBatchSize: 1 });
    cached.send('a', 1);
    cached.send('b', 2);
    cached.send('c', 1, { parameters: { style: 'blue' } });
    cached.send('d', 1, { outputs: ['y'] });
    pass();
    for (let i = 0; i < 4; i++) cached.instance.finish();
    expect(cached.instance.batches).toEqual(['a', 'b', 'c', 'd']);
  });

  it('neither looks into the cache nor leaves an answer there when a request says so', () => {
    const cached = new CachedModel();
    const fresh = { parameters: { response_cache: false } };
    cached.send('a', 1, fresh);
    pass();
    cached.instance.finish();
    cached.send('b', 1);
    pass();
    cached.instance.finish();
    cached.send('c', 1, fresh);
    pass();
    expect(cached.instance.batches).toEqual(['a', 'b', 'c']);
    expect(cached.counts).toMatchObject({ hits: 0, misses: 1 });
  });

  it('looks into the cache when a request says that it may', () => {
    const cached = new CachedModel();
    cached.send('a', 1, { parameters: { response_cache: true } });
    cached.send('b', 1);
    pass();
    cached.instance.finish();
    cached.send('c', 1, { parameters: { response_cache: true } });
    expect(cached.instance.batches).toEqual(['a']);
    expect(cached.answers).toEqual(['a ok 1', 'b ok 1', 'c ok 1']);
  });

  it.each([
    ['false', '"false"'],
    [0, 'number 0'],
  ])('refuses a request that says %o, of which it cannot know what it means', (wish, got) => {
    const cached = new CachedModel();
    expect(() => cached.send('a', 1, { parameters: { response_cache: wish } })).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARG',
        message: `[request id: a] parameter 'response_cache' must be true or false, got ${got}`,
      }),
    );
    expect([...cached.model.statistics.refusals]).toEqual([['INVALID_ARG', 1]]);
    const uncached = new CachedModel({ responseCache: false });
    uncached.send('a', 1, { parameters: { response_cache: wish } });
    pass();
    expect(uncached.instance.batches).toEqual(['a']);
  });

  it('keeps what was answered, whatever becomes of the memory it was answered from', () => {
    const cached = new CachedModel();
    cached.send('a', 1);
    pass();
    cached.instance.finish();
    cached.instance.outputs[0]!.bytes.fill(99);
    cached.send('b', 1);
    expect(cached.answers.at(-1)).toBe('b ok 1');
  });

  it('does not keep errors, which those that waited share', () => {
    const cached = new CachedModel();
    cached.send('a', 1);
    cached.send('b', 1);
    pass();
    cached.instance.finish(FAILURE);
    expect(cached.answers).toEqual(['a INTERNAL asked to fail', 'b INTERNAL asked to fail']);
    cached.send('c', 1);
    pass();
    cached.instance.finish();
    expect(cached.instance.batches).toEqual(['a', 'c']);
    expect(cached.counts).toEqual({ success: 1, fail: 2, queue: 1, computed: 1, hits: 0, misses: 1 });
  });

  it('gives its answers though they are larger than the cache, and says so once', () => {
    const cached = new CachedModel({}, new ResponseCache(100));
    for (const id of 'ab') {
      cached.send(id, 1);
      pass();
      cached.instance.finish();
    }
    expect(cached.answers).toEqual(['a ok 1', 'b ok 1']);
    expect(cached.instance.batches).toEqual(['a', 'b']);
    expect(cached.warnings).toHaveLength(1);
    expect(cached.warnings[0]).toMatch(
      /^an answer of model 'm' takes \d+ bytes of the response cache, more than its 100/,
    );
  });

  it('has nothing of an earlier load, and leaves nothing behind', async () => {
    const cache = new ResponseCache(1 << 20);
    const first = new CachedModel({}, cache);
    first.send('a', 1);
    pass();
    first.instance.finish();
    const second = new CachedModel({}, cache);
    second.send('b', 1);
    pass();
    expect(second.instance.batches).toEqual(['b']);
    await first.model.drain();
    expect(cache.size).toBe(0);
  });

  it('waits no longer than it would have alone: a more urgent request runs itself', () => {
    const cached = new CachedModel({ maxBatchSize: 1, batcher: { priorityLevels: 2, defaultPriorityLevel: 2 } });
    cached.send('z', 9);
    pass();
    cached.send('y', 8);
    cached.send('a', 1);
    cached.send('b', 1, { priority: 1 });
    cached.instance.finish();
    cached.instance.finish();
    // The urgent one's answer serves whoever asks from now on.
    cached.send('c', 1);
    expect(cached.answers).toEqual(['z ok 9', 'b ok 1', 'c ok 1']);
    for (let i = 0; i < 2; i++) cached.instance.finish();
    expect(cached.instance.batches).toEqual(['z', 'b', 'y', 'a']);
  });

  it('waits no longer than it would have alone: one that has less time keeps to its own', () => {
    const policy = { defaultTimeoutMicroseconds: 100_000, allowTimeoutOverride: true };
    const cached = new CachedModel({ maxBatchSize: 1, batcher: { defaultQueuePolicy: policy } });
    cached.send('z', 9);
    pass();
    cached.send('a', 1);
    cached.send('b', 1, { timeoutMicroseconds: 10_000 });
    pass(20);
    expect(cached.answers).toEqual(['b UNAVAILABLE Request timeout expired']);
  });

  it('lets later requests wait for the one that still runs when another that asked the same has failed', () => {
    const cached = new CachedModel({ maxBatchSize: 1, batcher: { priorityLevels: 2, defaultPriorityLevel: 2 } });
    cached.send('z', 9);
    pass();
    cached.send('a', 1, { priority: 1 });
    cached.send('b', 1);
    cached.instance.finish();
    cached.instance.finish(FAILURE);
    cached.send('c', 1);
    cached.instance.finish();
    expect(cached.instance.batches).toEqual(['z', 'a', 'b']);
    expect(cached.answers).toEqual(['z ok 9', 'a INTERNAL asked to fail', 'b ok 1', 'c ok 1']);
  });

  it('joins an execution whatever the priority', () => {
    const cached = new CachedModel({ batcher: { priorityLevels: 2, defaultPriorityLevel: 2 } });
    cached.send('a', 1);
    pass();
    cached.send('b', 1, { priority: 1 });
    cached.instance.finish();
    expect(cached.answers).toEqual(['a ok 1', 'b ok 1']);
  });

  it('keeps the order of answers where it is asked for', () => {
    const cached = new CachedModel({ maxBatchSize: 1, batcher: { preserveOrdering: true } });
    cached.send('a', 1);
    pass();
    cached.instance.finish();
    cached.send('b', 2);
    cached.send('c', 1);
    cached.send('d', 2);
    pass();
    expect(cached.answers).toEqual(['a ok 1']);
    cached.instance.finish();
    expect(cached.answers).toEqual(['a ok 1', 'b ok 2', 'c ok 1', 'd ok 2']);
  });

  it('lets no kept answer pass a request that waits for an execution where order is asked for', () => {
    const cached = new CachedModel({ batcher: { preserveOrdering: true } });
    cached.send('a', 1);
    pass();
    cached.instance.finish();
    cached.send('b', 2);
    pass();
    cached.send('c', 2);
    cached.send('d', 1);
    cached.instance.finish();
    expect(cached.answers).toEqual(['a ok 1', 'b ok 2', 'c ok 2', 'd ok 1']);
  });
});

describe('the statistics of a model with a response cache', () => {
  it('have the time for looking up, and waiting for an execution as waiting', () => {
    const cached = new CachedModel();
    vi.spyOn(cached.cache, 'get').mockImplementation(() => {
      pass(4);
      return undefined;
    });
    cached.send('a', 1);
    pass(10);
    cached.send('b', 1);
    pass(5);
    cached.instance.finish();
    expect(cached.model.statistics.report('m', '1')).toMatchObject({
      success: { count: 2, ns: 32e6 },
      queue: { count: 2, ns: 9e6 },
      cacheHit: { count: 1, ns: 4e6 },
      cacheMiss: { count: 1, ns: 4e6 },
    });
  });

  it('have no waiting of a request that took an execution over', () => {
    const cached = new CachedModel();
    const gone = cached.send('a', 1);
    pass(10);
    cached.send('b', 1);
    gone.cancel();
    pass(3);
    cached.instance.finish();
    expect(cached.model.statistics.report('m', '1')).toMatchObject({
      success: { count: 1, ns: 3e6 },
      queue: { count: 1, ns: 0 },
    });
  });
});

describe('a request that waits for another that asks the same', () => {
  it('leaves when its client is gone, and nobody else does', () => {
    const cached = new CachedModel();
    cached.send('a', 1);
    const gone = cached.send('b', 1);
    cached.send('c', 1);
    pass();
    gone.cancel();
    expect(cached.answers).toEqual(['b CANCELLED']);
    cached.instance.finish();
    expect(cached.answers).toEqual(['b CANCELLED', 'a ok 1', 'c ok 1']);
    expect(cached.instance.cancelled).toEqual([]);
  });

  it('runs itself when the other leaves the queue', () => {
    const cached = new CachedModel();
    const gone = cached.send('a', 1);
    cached.send('b', 1);
    cached.send('c', 1);
    gone.cancel();
    pass();
    cached.instance.finish();
    expect(cached.instance.batches).toEqual(['b']);
    expect(cached.answers).toEqual(['a CANCELLED', 'b ok 1', 'c ok 1']);
    expect(cached.counts).toMatchObject({ success: 2, fail: 1, hits: 1, misses: 1 });
    expect(cached.model.inflight).toBe(0);
  });

  it('takes the execution over when the other is cancelled while it runs', () => {
    const cached = new CachedModel();
    const gone = cached.send('a', 1);
    pass();
    cached.send('b', 1);
    gone.cancel();
    expect(cached.instance.cancelled).toEqual([]);
    cached.instance.finish();
    expect(cached.instance.batches).toEqual(['a']);
    expect(cached.answers).toEqual(['a CANCELLED', 'b ok 1']);
    expect(cached.counts).toMatchObject({ success: 1, fail: 1, computed: 1, hits: 0, misses: 1 });
    cached.send('c', 1);
    expect(cached.answers.at(-1)).toBe('c ok 1');
  });

  it('shares the failure of an execution that it took over', () => {
    const cached = new CachedModel();
    const gone = cached.send('a', 1);
    pass();
    cached.send('b', 1);
    cached.send('c', 1);
    gone.cancel();
    cached.instance.finish(FAILURE);
    expect(cached.instance.batches).toEqual(['a']);
    expect(cached.answers).toEqual(['a CANCELLED', 'b INTERNAL asked to fail', 'c INTERNAL asked to fail']);
  });

  it('runs itself when the other is cancelled within the callable that it begins', () => {
    const cached = new CachedModel();
    const leader = cached.send('a', 1);
    cached.send('b', 1);
    cached.send('c', 1);
    cached.instance.onBegin = () => leader.cancel();
    pass();
    expect(cached.answers).toEqual(['a CANCELLED']);
    cached.instance.finish();
    pass(1);
    cached.instance.finish();
    expect(cached.answers).toEqual(['a CANCELLED', 'b ok 1', 'c ok 1']);
    expect([cached.instance.batches, cached.model.inflight]).toEqual([['a', 'b'], 0]);
  });

  it('cancels the execution when its client is the last to go', () => {
    const cached = new CachedModel();
    const first = cached.send('a', 1);
    pass();
    const second = cached.send('b', 1);
    const third = cached.send('c', 1);
    second.cancel();
    first.cancel();
    expect(cached.instance.cancelled).toEqual([]);
    third.cancel();
    expect(cached.instance.cancelled).toEqual([0]);
    cached.instance.finish();
    expect(cached.answers).toEqual(['b CANCELLED', 'a CANCELLED', 'c CANCELLED']);
    // An aborted callable may have answered anything: it is not kept.
    cached.send('d', 1);
    pass();
    expect(cached.instance.batches).toEqual(['a', 'd']);
  });

  it('runs itself when the other waited too long, unless it did so too', () => {
    const policy = { defaultTimeoutMicroseconds: 100_000 };
    const cached = new CachedModel({ maxBatchSize: 1, batcher: { defaultQueuePolicy: policy } });
    cached.send('z', 9);
    pass();
    cached.send('a', 1);
    pass(60);
    cached.send('b', 1);
    pass(60);
    expect(cached.answers).toEqual(['a UNAVAILABLE Request timeout expired']);
    cached.send('c', 1);
    pass(60);
    expect(cached.answers.slice(1)).toEqual(['b UNAVAILABLE Request timeout expired']);
    cached.instance.finish();
    cached.instance.finish();
    expect(cached.answers.slice(2)).toEqual(['z ok 9', 'c ok 1']);
  });

  it('is served while the model is drained', async () => {
    const cached = new CachedModel();
    const gone = cached.send('a', 1);
    cached.send('b', 1);
    const drained = cached.model.drain();
    gone.cancel();
    cached.send('c', 1);
    pass();
    cached.instance.finish();
    await drained;
    expect(cached.answers).toEqual([
      'a CANCELLED',
      'c UNAVAILABLE [request id: c] Server is stopping, scheduler for model has stopped accepting new inference requests',
      'b ok 1',
    ]);
  });

  it.each([
    ['runs', true],
    ['waits', false],
  ])('fails with the server while the other %s', (_, runs) => {
    const cached = new CachedModel();
    cached.send('a', 1);
    cached.send('b', 1);
    if (runs) pass();
    cached.model.stop(new TritonError('UNAVAILABLE', 'Server exiting'));
    expect(cached.answers).toEqual(['a UNAVAILABLE Server exiting', 'b UNAVAILABLE Server exiting']);
    expect(cached.model.inflight).toBe(0);
  });

  it.each(['a', 'abc'])('fails when no instance is left for a second: %s waited, and one comes then', (ids) => {
    const cached = new CachedModel();
    cached.model.removeInstance(cached.instance);
    for (const id of ids) cached.send(id, 1);
    pass(5_000);
    // What was accepted before and is queued only now must not wait for ever either.
    cached.send('z', 1);
    pass(10);
    const told = "UNAVAILABLE model 'm' is not ready: all instances ended while the request waited";
    expect(cached.answers).toEqual(Array.from(`${ids}z`, (id) => `${id} ${told}`));
    expect(cached.model.inflight).toBe(0);
    cached.model.addInstance(cached.instance);
    for (const id of 'de') cached.send(id, 2);
    pass();
    cached.instance.finish();
    expect(cached.answers.slice(-2)).toEqual(['d ok 2', 'e ok 2']);
  });

  it('is a hit like one that finds a kept answer, of the model and of the cache', () => {
    const cached = new CachedModel();
    for (const id of 'abc') cached.send(id, 1);
    pass();
    cached.instance.finish();
    cached.send('d', 1);
    cached.send('e', 2);
    const gone = cached.send('f', 2);
    gone.cancel();
    pass();
    cached.instance.finish(FAILURE);
    expect(cached.counts).toMatchObject({ success: 4, fail: 2, hits: 3, misses: 1 });
    // Two look-ups came to nothing: a failure, and a client that went.
    expect(cached.cache.usage).toMatchObject({ lookups: 6, hits: 3, misses: 1 });
  });

  it('has its answer though the other cannot take it', () => {
    const cached = new CachedModel();
    const lost: string[] = [];
    const sink: ResponseSink = {
      respond: () => {
        throw new Error('gone');
      },
      complete: () => undefined,
      fail: ({ message }) => void lost.push(message),
    };
    cached.send('a', 1, { sink });
    cached.send('b', 1);
    pass();
    cached.instance.finish();
    expect(lost).toEqual(['gone']);
    expect(cached.answers).toEqual(['b ok 1']);
  });
});
