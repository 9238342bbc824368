import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { inferRequest, RecordingSink, wireTensor } from '../../test/support/infer-requests.js';
import { fakeTime, ManualInstance, pass } from '../../test/support/scheduler-harness.js';
import { TritonError } from '../errors.js';
import { completeModelConfig } from '../model/complete-model.js';
import { ResponseCache } from './cache/response-cache.js';
import { Model } from './model.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

beforeEach(fakeTime);
afterEach(() => void vi.useRealTimers());

describe('Model', () => {
  it('finishes what it has accepted, and waits its delays out, when it accepts no more', async () => {
    const instance = new ManualInstance();
    const batcher = { maxQueueDelayMicroseconds: 50_000 };
    const spec = { modelName: 'm', inputs: {}, outputs: {}, config: { maxBatchSize: 4, batcher } };
    const model = new Model(completeModelConfig(spec, 1));
    model.addInstance(instance);
    const answers: string[] = [];
    const send = (id: string) =>
      model.infer(inferRequest({ id }), {
        respond: () => void answers.push(`${id} ok`),
        complete: () => undefined,
        fail: ({ code, message }) => void answers.push(`${id} ${code} ${message}`),
      });
    send('a');
    pass(10);
    const drained = model.drain();
    send('b');
    send('');
    const text = 'Server is stopping, scheduler for model has stopped accepting new inference requests';
    expect(answers).toEqual([
      `b UNAVAILABLE [request id: b] ${text}`,
      ` UNAVAILABLE [request id: <id_unknown>] ${text}`,
    ]);
    pass(39);
    expect(instance.batches).toEqual([]);
    pass(1);
    instance.last.finish();
    await drained;
    expect(answers[2]).toBe('a ok');
    expect(model.statistics.fail.count).toBe(0);
  });

  it('leaves no timer when it has finished, though a request left the queue that had one', async () => {
    const batcher = { defaultQueuePolicy: { defaultTimeoutMicroseconds: 60_000_000 } };
    const spec = { modelName: 'm', inputs: {}, outputs: {}, config: { batcher } };
    const model = new Model(completeModelConfig(spec, 1));
    const instance = new ManualInstance();
    model.addInstance(instance);
    const send = () => model.infer(inferRequest(), new RecordingSink());
    send();
    pass(1);
    const waiting = send();
    pass(1);
    waiting.cancel();
    instance.last.finish();
    await model.drain();
    expect([model.inflight, vi.getTimerCount()]).toEqual([0, 0]);
  });
});

describe('Model whose callable does not come to an end', () => {
  it.each([
    ['a request', undefined, false],
    ['a sequence', { start: true, end: false }, false],
    ['a sequence that ends', { start: true, end: true }, false],
    ['a sequence that ends, and is replaced', { start: true, end: true }, true],
  ])('waits a second for it where its client has left: %s', async (_, flags, accepting) => {
    const config = flags === undefined ? {} : { maxBatchSize: 4, sequenceBatching: {} };
    const model = new Model(completeModelConfig({ modelName: 'm', inputs: {}, outputs: {}, config }, 1));
    const instance = new ManualInstance();
    model.addInstance(instance);
    const request = model.infer(inferRequest(flags && { sequence: { id: 1, ...flags } }), new RecordingSink());
    pass(1);
    expect(instance.batches).toHaveLength(1);
    request.cancel();
    const drained = vi.fn<() => void>();
    const draining = model.drain(accepting).then(drained);
    for (let i = 0; i < 5; i++) await Promise.resolve();
    pass(999);
    for (let i = 0; i < 5; i++) await Promise.resolve();
    expect(drained).not.toHaveBeenCalled();
    pass(10);
    await draining;
    expect([model.inflight, model.liveSequences, vi.getTimerCount()]).toEqual([0, 0, 0]);
    instance.last.finish();
    expect(model.liveSequences).toBe(0);
  });
});

describe('Model with sequences of strings', () => {
  const MANY = 200_000;

  function start() {
    const instance = new ManualInstance();
    const spec = {
      modelName: 'm',
      inputs: { words: { dtype: 'string', shape: [-1] } },
      outputs: {},
      config: { maxBatchSize: 4, sequenceBatching: { strategy: 'oldest' } },
    } as const;
    const model = new Model(completeModelConfig(spec, 1));
    model.addInstance(instance);
    const answers: string[] = [];
    /** `words` of them; many take several turns to look at. */
    const send = (id: string, flags: string, words: number, sequence: number | string = 1) =>
      model.infer(
        inferRequest({
          id,
          inputs: [
            wireTensor(
              'words',
              'string',
              Array.from({ length: words }, () => 'word'),
              [1, words],
            ),
          ],
          sequence: { id: sequence, start: flags.includes('S'), end: flags.includes('E') },
        }),
        {
          respond: () => void answers.push(`${id} ok`),
          complete: () => undefined,
          fail: ({ code, message }) => void answers.push(`${id} ${code} ${message}`.trimEnd()),
        },
      );
    /** Answers batches until all is over. */
    const runAll = () => {
      for (let i = 0; i < 20; i++) {
        pass(1);
        if (instance.executions.length > i) instance.executions[i]!.finish();
      }
    };
    return { model, instance, answers, send, runAll };
  }

  it('keeps the order of arrival when a request is prepared for longer than those behind it', () => {
    const { instance, answers, send, runAll } = start();
    send('a', 'S', MANY);
    send('b', '', 1);
    send('c', '', MANY + 1);
    send('d', 'E', 2);
    // Others do not wait for it.
    send('x', 'SE', 3, 'other');
    runAll();
    expect(instance.batches).toEqual(['x', 'a', 'b', 'c', 'd']);
    expect(answers).toEqual(['x ok', 'a ok', 'b ok', 'c ok', 'd ok']);
  });

  it('goes on behind a request that is refused when it has been looked at', () => {
    const { model, instance, answers, send, runAll } = start();
    send('a', 'S', 1);
    const bad = wireTensor(
      'words',
      'string',
      Array.from({ length: MANY }, () => 'word'),
      [1, MANY],
    );
    model.infer(
      inferRequest({
        id: 'b',
        inputs: [{ ...bad, shape: [1, MANY - 1] }],
        sequence: { id: 1, start: false, end: false },
      }),
      { respond: () => undefined, complete: () => undefined, fail: () => void answers.push('b refused') },
    );
    send('c', 'E', 2);
    runAll();
    expect(instance.batches).toEqual(['a', 'c']);
    expect(answers).toEqual(['b refused', 'a ok', 'c ok']);
  });

  it('ends a sequence whose client leaves while its request is prepared', () => {
    const { model, instance, answers, send, runAll } = start();
    send('a', 'S', 1);
    const gone = send('b', '', MANY);
    send('c', '', 3);
    gone.cancel();
    runAll();
    expect(instance.batches).toEqual(['a']);
    const left = "sequence 1 of model 'm' is over: the client of one of its requests is gone";
    expect(answers).toEqual(['b CANCELLED', 'a ok', `c CANCELLED ${left}`]);
    expect([model.inflight, model.liveSequences, model.statistics.pending]).toEqual([0, 0, 0]);
  });

  it('fails at its end what waits behind a request that is prepared', () => {
    const { model, instance, answers, send, runAll } = start();
    send('a', 'S', MANY);
    send('b', '', 1);
    model.stop(new TritonError('UNAVAILABLE', 'Server exiting'));
    runAll();
    expect(instance.batches).toEqual([]);
    expect(answers).toEqual(['a UNAVAILABLE Server exiting', 'b UNAVAILABLE Server exiting']);
    expect(model.inflight).toBe(0);
  });
});

describe('Model with a callable that takes long', () => {
  it.each([
    ['waits for the answer to another one', { responseCache: true }, undefined],
    ['continues a sequence', { maxBatchSize: 4, sequenceBatching: {} }, { id: 1, end: false }],
    ['keeps its order', { batcher: { preserveOrdering: true } }, undefined],
  ])('holds no memory of a request whose client has left, and that %s', (_, config, sequence) => {
    const inputs = { x: { dtype: 'uint8', shape: [-1] } } as const;
    const spec = completeModelConfig({ modelName: 'm', inputs, outputs: {}, config }, 1);
    const model = new Model(spec, { cache: new ResponseCache(1 << 20) });
    const instance = new ManualInstance();
    model.addInstance(instance);
    const send = (start: boolean, x = wireTensor('x', 'uint8', Uint8Array.of(7), [1, 1])) => {
      const request = inferRequest({ inputs: [x], ...(sequence && { sequence: { ...sequence, start } }) });
      return { x: new WeakRef(x.bytes), inflight: model.infer(request, new RecordingSink()) };
    };
    send(true);
    pass(1);
    const { x, inflight } = send(false);
    pass(1);
    inflight.cancel();
    expect([instance.batches.length, model.inflight]).toEqual([1, 1]);
    return vi.waitFor(() => {
      collectGarbage();
      // Not the bytes themselves: a failed expectation would hold them.
      expect(x.deref() === undefined).toBe(true);
    });
  });
});

describe('Model whose requests take room for their strings', () => {
  it.each([false, true])('keeps none for a request that had to end to make it, with a cache: %s', (responseCache) => {
    const spec = {
      modelName: 'm',
      inputs: { words: { dtype: 'string', shape: [-1] } },
      outputs: {},
      config: { responseCache },
    } as const;
    let held = 0;
    const elementRoom = {
      largest: Infinity,
      // The connection that takes the room may be the one that has to make it.
      take: (bytes: number) => {
        request.cancel();
        held += bytes;
        return true;
      },
      give: (bytes: number) => void (held -= bytes),
    };
    const model = new Model(completeModelConfig(spec, 1), { elementRoom, cache: new ResponseCache(1 << 20) });
    const instance = new ManualInstance();
    model.addInstance(instance);
    const words = Array.from({ length: 100_000 }, () => 'word');
    const answers: string[] = [];
    const request = model.infer(inferRequest({ inputs: [wireTensor('words', 'string', words, [1, words.length])] }), {
      respond: () => undefined,
      complete: () => undefined,
      fail: ({ code }) => void answers.push(code),
    });
    pass(50);
    expect([answers, instance.batches, model.inflight, held]).toEqual([['CANCELLED'], [], 0, 0]);
  });
});

describe('Model that replaces one with live sequences', () => {
  function start() {
    const spec = {
      modelName: 'm',
      inputs: {},
      outputs: {},
      config: { maxBatchSize: 4, sequenceBatching: {} },
    } as const;
    const answers: string[] = [];
    const made = () => {
      const instance = new ManualInstance();
      const model = new Model(completeModelConfig(spec, 1));
      model.addInstance(instance);
      return { model, instance };
    };
    const [before, after] = [made(), made()];
    const send = (model: Model, id: string, flags: string, sequence: number) =>
      void model.infer(inferRequest({ id, sequence: { id: sequence, start: flags === 'S', end: flags === 'E' } }), {
        respond: () => void answers.push(`${id} ok`),
        complete: () => undefined,
        fail: ({ message }) => void answers.push(`${id} ${message}`),
      });
    return { before, after, answers, send };
  }

  it('leaves them there, unless another one begins here with the same id', () => {
    const { before, after, answers, send } = start();
    send(before.model, 'a', 'S', 1);
    send(before.model, 'b', 'S', 2);
    pass();
    before.instance.last.finish();
    after.model.replace(before.model, new Promise(() => undefined));
    void before.model.drain(true);
    send(after.model, 'c', '', 1);
    send(after.model, 'd', 'S', 2);
    pass();
    expect([before.instance.batches, after.instance.batches]).toEqual([['ab', 'c'], ['d']]);
    expect(before.model.liveSequences).toBe(1);
    after.instance.last.finish();
    send(after.model, 'e', 'E', 2);
    pass();
    after.instance.last.finish();
    // That of the replaced model is over too.
    expect(() => send(after.model, 'f', '', 2)).not.toThrow();
    pass();
    expect([before.instance.batches, after.instance.batches]).toEqual([
      ['ab', 'c'],
      ['d', 'e'],
    ]);
    expect(answers.at(-1)).toContain('f inference request for sequence 2 to model');
  });
});
