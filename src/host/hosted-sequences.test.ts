import { describe, expect, it, vi } from 'vitest';

import { batch } from '../callables/batch.js';
import { groupByValues } from '../callables/group-by-values.js';
import { padBatch } from '../callables/pad-batch.js';
import { sample } from '../callables/sample.js';
import { stream } from '../callables/stream.js';
import { completeModelConfig } from '../model/complete-model.js';
import { HostedRequest } from '../model/inference-request.js';
import { InferenceResponse } from '../model/inference-response.js';
import type { ModelConfig } from '../model/model-config.js';
import type { SequenceBatching } from '../model/sequence-batching.js';
import { sequenceStateSource } from '../model/sequence-state-source.js';
import { Tensor } from '../tensor/tensor.js';
import { CallableHost } from './callable-host.js';
import { type HostResult, RESCHEDULED } from './host-results.js';

const LOGGER = { error: () => undefined, warn: () => undefined, info: () => undefined, verbose: () => undefined };

interface Row {
  readonly id: number | string | bigint;
  readonly slot: number;
  readonly start?: boolean;
  readonly end?: boolean;
  readonly isOwn?: boolean;
}

/** Of a model with states that only its callable sees. */
function statefulConfig(state: NonNullable<SequenceBatching['state']>, config: Partial<ModelConfig> = {}) {
  const spec = { dtype: 'int32', shape: [1] } as const;
  const tensors = { inputs: { x: spec }, outputs: { y: spec }, strict: true };
  return completeModelConfig(
    { modelName: 'm', ...tensors, config: { maxBatchSize: 4, sequenceBatching: { state }, ...config } },
    1,
  );
}

/** Runs batches on a host; `seen` has what the callable got, by inputs. */
function host(sequenceBatching: SequenceBatching, again: readonly number[] = [], outputs: readonly string[] = ['y']) {
  const seen: Record<string, unknown[]>[] = [];
  const config = completeModelConfig(
    {
      modelName: 'm',
      inputs: { x: { dtype: 'int32', shape: [1] } },
      outputs: Object.fromEntries(outputs.map((name) => [name, { dtype: 'int32', shape: [1] }])),
      config: { maxBatchSize: 4, sequenceBatching },
    },
    1,
  );
  const callable = batch((inputs: Record<string, Tensor>, { reschedule }) => {
    again.forEach(reschedule);
    const own = Object.entries(inputs).map(([name, { data }]) => [name, Array.from(data as ArrayLike<unknown>)]);
    seen.push(Object.fromEntries(own) as Record<string, unknown[]>);
    const { x, h } = inputs;
    return h === undefined ? { y: x } : { y: x, h: h.map((value) => Number(value) + 1) };
  });
  const state = sequenceStateSource(sequenceBatching);
  const callables = new CallableHost(config, callable as never, { logger: LOGGER, state });
  const run = (...rows: Row[]): readonly HostResult[] => {
    const requests = rows.map(({ id, slot, start = false, end = false, isOwn = false }, index) => {
      const inputs = { x: new Tensor('int32', Int32Array.of(index + 1), [1, 1]) };
      const request = new HostedRequest(inputs, 1, '', undefined);
      request.sequence = { id, start, end };
      request.live = { serial: slot + 1, slot, isOwn };
      request.requestedOutputs = outputs;
      return request;
    });
    let results: readonly HostResult[] = [];
    callables.execute(requests, (given) => (results = given));
    return results;
  };
  return { run, seen, callables };
}

const values = (result: HostResult | undefined) =>
  (result as readonly (Tensor | undefined)[]).map((tensor) => tensor && Array.from(tensor.data as ArrayLike<unknown>));

describe('the callable of a model that batches by sequences', () => {
  it('gets the control inputs that the model declares, in their forms', () => {
    const { run, seen } = host({
      controls: {
        START: { control: 'START', falseTrue: [5, -7] },
        END: { control: 'END', dtype: 'float32', falseTrue: [0.5, 2.5] },
        READY: { control: 'READY', dtype: 'bool', falseTrue: [true, false] },
        ID: { control: 'CORRID', dtype: 'int32' },
      },
    });
    run({ id: 4_294_967_303, slot: 0, start: true }, { id: 2 ** 32 - 1, slot: 1, end: true });
    expect(seen).toEqual([{ x: [1, 2], START: [-7, 5], END: [0.5, 2.5], READY: [0, 0], ID: [7, -1] }]);
  });

  it('gets ids as texts of any length, and numbers for ids that are none', () => {
    const { run, seen } = host({ controls: { TEXT: { control: 'CORRID', dtype: 'string' } } });
    run({ id: 'é中', slot: 0 }, { id: 18_446_744_073_709_551_615n, slot: 1 }, { id: '', slot: 2 });
    expect(seen[0]!['TEXT']).toEqual(['é中', '18446744073709551615', '']);
    const numbers = host({ controls: { ID: { control: 'CORRID' } } });
    numbers.run({ id: 'a', slot: 0 }, { id: 'b', slot: 1 }, { id: 18_446_744_073_709_551_615n, slot: 2 });
    expect(numbers.seen[0]!['ID']).toEqual([(1n << 63n) + 1n, (1n << 63n) + 2n, (1n << 64n) - 1n]);
  });

  it('sees empty slots only where it asks for them, and its answers for them are dropped', () => {
    const controls = { READY: { control: 'READY' } } as const;
    const without = host({ controls });
    without.run({ id: 1, slot: 1 }, { id: 2, slot: 3 });
    expect(without.seen).toEqual([{ x: [1, 2], READY: [1, 1] }]);
    const { run, seen } = host({ controls, emptySlots: true });
    const results = run({ id: 1, slot: 1 }, { id: 2, slot: 3 });
    expect(seen).toEqual([{ x: [0, 1, 0, 2], READY: [0, 1, 0, 1] }]);
    expect(results.map(values)).toEqual([[[1]], [[2]]]);
  });

  it('gets back the state that it gave, until the sequence is over', () => {
    const { run, seen } = host({ state: { h: { dtype: 'int32', shape: [1], initial: 10 } } });
    expect(values(run({ id: 1, slot: 0, start: true })[0])).toEqual([[1]]);
    run({ id: 1, slot: 0 }, { id: 2, slot: 1, start: true });
    run({ id: 1, slot: 0, start: true }, { id: 2, slot: 1, end: true });
    run({ id: 3, slot: 1, start: true });
    expect(seen.map(({ h }) => h)).toEqual([[10], [11, 10], [10, 11], [10]]);
  });

  it('answers with the next state where the model declares it as an output, and keeps it all the same', () => {
    const { run, seen } = host({ state: { h: { dtype: 'int32', shape: [1] } } }, [], ['h', 'y']);
    expect(values(run({ id: 1, slot: 0, start: true })[0])).toEqual([[1], [1]]);
    expect(values(run({ id: 1, slot: 0 })[0])).toEqual([[2], [1]]);
    expect(seen.map(({ h }) => h)).toEqual([[0], [1]]);
    expect(() => host({ state: { h: { dtype: 'int32', shape: [2] } } }, [], ['h', 'y'])).toThrow(
      "output 'h' of state 'h' of model 'm' is declared among the outputs as int32 [1]: expected int32 [2]",
    );
  });

  it('may write to its state, of which only what it gives is kept', () => {
    const config = statefulConfig({ h: { dtype: 'int32', shape: [1] }, bytes: { dtype: 'bytes', shape: [1] } });
    const seen: unknown[] = [];
    const given = Buffer.of(7);
    const steps = [
      { gives: { h: [[5]], bytes: [[given]] } },
      { fails: true },
      // Leaves its state out.
      { gives: {} },
      { gives: {} },
    ];
    const callable = ([request]: readonly HostedRequest[]) => {
      const { x, h, bytes } = request!.inputs as Record<'x' | 'h' | 'bytes', Tensor>;
      const [element] = bytes.data as Uint8Array[];
      seen.push([h.data[0], ...element!]);
      h.data[0] = 99;
      element![0] = 99;
      const { fails = false, gives } = steps[seen.length - 1]!;
      if (fails) throw new Error('no step');
      return [{ y: x, ...gives }];
    };
    const host = new CallableHost(config, callable as never, { logger: LOGGER });
    steps.forEach((_, index) => {
      const request = new HostedRequest({ x: new Tensor('int32', Int32Array.of(index), [1, 1]) }, 1, '', undefined);
      request.sequence = { id: 1, start: index === 0, end: false };
      request.live = { serial: 1, slot: 0 };
      request.requestedOutputs = ['y'];
      host.execute([request], () => (given[0] = 99));
    });
    expect(seen).toEqual([[0], [5, 7], [5, 7], [5, 7]]);
  });

  it.each([
    ['sample', 1, sample],
    ['padBatch', 4, (fn: never) => batch(padBatch(fn) as never)],
    ['groupByValues', 4, (fn: never) => batch(groupByValues(['x'], fn) as never)],
  ])('may leave its state out under %s, which then stays', (_, maxBatchSize, decorate) => {
    const config = statefulConfig({ h: { dtype: 'int32', shape: [1] } }, { maxBatchSize });
    const seen: unknown[] = [];
    const callable = ({ x, h }: Record<string, Tensor>) => {
      seen.push(h!.data[0]);
      return seen.length === 1 ? { y: x, h: h!.map(() => 5) } : { y: x };
    };
    const host = new CallableHost(config, decorate(callable as never) as never, { logger: LOGGER });
    const results: HostResult[] = [];
    for (let index = 0; index < 3; index++) {
      const request = new HostedRequest({ x: new Tensor('int32', Int32Array.of(index), [1, 1]) }, 1, '', undefined);
      request.sequence = { id: 1, start: index === 0, end: false };
      request.live = { serial: 1, slot: 0 };
      request.requestedOutputs = ['y'];
      host.execute([request], (given) => results.push(...given));
    }
    expect(results.map(values)).toEqual([[[0]], [[1]], [[2]]]);
    expect(seen).toEqual([0, 5, 5]);
  });

  it('may leave its state out in some groups of groupByValues, while the others keep what they give', () => {
    const config = statefulConfig({ h: { dtype: 'int32', shape: [1] }, b: { dtype: 'bytes', shape: [1] } });
    const seen: unknown[] = [];
    const callable = ({ x, h, b }: Record<string, Tensor>) => {
      const [value, [element]] = [Number(h!.data[0]), b!.data as Uint8Array[]];
      seen.push([value, ...element!]);
      h!.data[0] = 99;
      element!.fill(99);
      return Number(x!.data[0]) < 2 ? { y: x, h: [[value + 1]], b: [[Uint8Array.of(value)]] } : { y: x };
    };
    const grouped = batch(groupByValues(['x'], callable as never) as never);
    const host = new CallableHost(config, grouped as never, { logger: LOGGER });
    const batches = [[1, 2], [1, 2], [2, 1], [1, 2]]; // prettier-ignore
    batches.forEach((values, index) => {
      const requests = values.map((value, slot) => {
        const request = new HostedRequest({ x: new Tensor('int32', Int32Array.of(value), [1, 1]) }, 1, '', undefined);
        request.sequence = { id: slot + 1, start: index === 0, end: false };
        request.live = { serial: slot + 1, slot };
        request.requestedOutputs = ['y'];
        return request;
      });
      host.execute(requests, () => undefined);
    });
    expect(seen).toEqual([[0], [0], [1, 0], [0], [2, 1], [0], [2, 1], [1, 0]]);
  });

  it('keeps the states of a stream when the stream has ended well', async () => {
    const config = statefulConfig({ h: { dtype: 'int32', shape: [1] } }, { decoupled: true });
    const seen: unknown[] = [];
    const ends: readonly unknown[] = ['fails', 'ends', 'says so', 'is wrong', 'ends'];
    const host = new CallableHost(
      config,
      stream(function* ({ h }: Record<string, Tensor>) {
        const how = ends[seen.length];
        seen.push(h!.data[0]);
        const step = (value: number) => ({ y: [[1]], h: [[value]] });
        yield step(10 * seen.length);
        if (how === 'fails') throw new Error('no step');
        if (how === 'says so') yield new InferenceResponse(step(7), { final: true });
        else yield how === 'is wrong' ? { z: [[1]] } : step(10 * seen.length + 1);
      } as never) as never,
      { logger: LOGGER },
    );
    for (const [index] of ends.entries()) {
      const request = new HostedRequest({ x: new Tensor('int32', Int32Array.of(1), [1, 1]) }, 1, '', undefined);
      request.sequence = { id: 1, start: index === 0, end: false };
      request.live = { serial: 1, slot: 0 };
      request.requestedOutputs = ['y'];
      const nobody = { respond: () => undefined, end: () => undefined };
      await new Promise<void>((resolve) => host.execute([request], () => resolve(), { stream: nobody }));
    }
    expect(seen).toEqual([0, 0, 21, 7, 7]);
  });

  it('fails only the request for which no state can be made', () => {
    let made = 0;
    const { run } = host({
      state: () => {
        if (++made === 1) throw new Error('out of sessions');
        return {};
      },
    });
    const results = run({ id: 1, slot: 0, start: true }, { id: 2, slot: 1, start: true });
    expect(results[0]).toMatchObject({ message: expect.stringContaining('out of sessions') as string });
    expect(values(results[1])).toEqual([[2]]);
  });

  it('keeps the state of a request that it reschedules, and ends a sequence of its own with the last step', () => {
    const told: string[] = [];
    const again = [0, 2];
    let made = 0;
    const onEnd = (state: number, reason: string) => void told.push(`${state} ${reason}`);
    const { run } = host({ iterative: true, state: () => ++made, onEnd }, again);
    const rows = [0, 1, 2].map((slot) => ({ id: slot + 1, slot, start: true, isOwn: true }));
    expect(run(...rows).map((result) => result === RESCHEDULED)).toEqual([true, false, true]);
    expect(told).toEqual(['2 ended']);
    again.length = 0;
    run({ id: 1, slot: 0, isOwn: true }, { id: 3, slot: 2, isOwn: true });
    expect([told, made]).toEqual([['2 ended', '1 ended', '3 ended'], 3]);
  });

  it('gets the tensors of its state in the next step, though nobody gets the outputs of this one', () => {
    const again = [0];
    const { run, seen } = host({ iterative: true, state: { h: { dtype: 'int32', shape: [1], initial: 3 } } }, again);
    run({ id: 1, slot: 0, start: true, isOwn: true });
    run({ id: 1, slot: 0, isOwn: true });
    again.length = 0;
    expect(values(run({ id: 1, slot: 0, isOwn: true })[0])).toEqual([[1]]);
    expect(seen.map(({ h }) => h)).toEqual([[3], [4], [5]]);
  });

  it.each([-1, 2, 0.5])('is told of a row that it cannot reschedule: %d', (row) => {
    const { run } = host({ iterative: true }, [row]);
    const results = run({ id: 1, slot: 0, start: true }, { id: 2, slot: 1, start: true });
    expect(results[0]).toMatchObject({ message: `reschedule takes a row from 0 to 1, got ${row}` });
  });

  it('is told once of each object that is needed no more, and why', () => {
    const told: string[] = [];
    let made = 0;
    const onEnd = (state: number, reason: string) => void told.push(`${state} ${reason}`);
    const { run, callables } = host({ state: () => ++made, onEnd });
    run({ id: 1, slot: 0, start: true }, { id: 2, slot: 1, start: true }, { id: 3, slot: 2, start: true });
    run({ id: 1, slot: 0, start: true });
    run({ id: 2, slot: 1, end: true });
    callables.endSequence(3, 'expired');
    callables.endSequence(3, 'expired');
    callables.endSequences();
    expect(told).toEqual(['1 restarted', '2 ended', '3 expired', '4 unloaded']);
  });

  it.each([
    [
      'at once',
      () => {
        throw new Error('no');
      },
    ],
    ['later', async () => Promise.reject(new Error('no'))],
  ])('are over though their onEnd fails %s', async (_, onEnd) => {
    const logged = vi.spyOn(LOGGER, 'error');
    const { run } = host({ state: () => 1, onEnd: onEnd as () => void });
    expect(values(run({ id: 7, slot: 0, start: true, end: true })[0])).toEqual([[1]]);
    await expect.poll(() => logged.mock.calls.flat()).toEqual([expect.stringMatching(/^onEnd .* failed: .*Error: no/)]);
  });
});
