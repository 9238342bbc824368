// When a model's instances come and go: what becomes of the requests that wait, in simulated time.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { inferRequest, RecordingSink } from '../../test/support/infer-requests.js';
import { ManualSource } from '../../test/support/manual-source.js';
import { fakeTime, ManualInstance, pass } from '../../test/support/scheduler-harness.js';
import { READING, standStill } from '../../test/support/standstill.js';
import { ModelControl } from '../core/model-control.js';
import { ModelRepository } from '../core/model-repository.js';
import { completeModelConfig } from '../model/complete-model.js';
import { ServedModel } from './served-model.js';
import type { ServedOpening } from './served-opening.js';

const LOGGER = { error: () => undefined, warn: () => undefined, info: () => undefined, verbose: () => undefined };
const CONFIG = completeModelConfig({ modelName: 'm', inputs: {}, outputs: {}, config: { maxBatchSize: 1 } }, 1);
const GIVEN_UP = "UNAVAILABLE model 'm' is not ready: all instances ended while the request waited";

beforeEach(() => {
  fakeTime();
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** A loaded model of one instance, which works on a request while another one waits. */
async function serve() {
  const repository = new ModelRepository();
  const control = new ModelControl(repository, { mode: 'explicit', logger: LOGGER });
  const instance = new ManualInstance();
  const source = new ManualSource(instance);
  const shared = surroundings();
  const served = new ServedModel(CONFIG, source, shared);
  control.bind(served);
  await control.load('m');
  const send = () => {
    const sink = new RecordingSink();
    repository.get('m', '').infer(inferRequest(), sink);
    return sink;
  };
  const { statistics } = repository.get('m', '');
  const works = send();
  const waits = send();
  pass();
  return { repository, control, shared, source, instance, statistics, send, works, waits };
}

const { signal: SIGNAL } = new AbortController();

/** What the models of a server share, by itself. */
function surroundings() {
  return { caller: {} as never, openings: new Set<ServedOpening>(), isEnding: false, isOwnerBlocked: false };
}

describe('a served model of a server that ends', () => {
  it('opens nothing any more', async () => {
    const shared = { ...surroundings(), isEnding: true };
    const source = new ManualSource(new ManualInstance());
    await expect(new ServedModel(CONFIG, source, shared).open(CONFIG, SIGNAL)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: 'Server exiting',
    });
    expect([shared.openings.size, source.closes]).toEqual([0, 0]);
  });

  it('closes what was opened meanwhile', async () => {
    const shared = surroundings();
    const source = new ManualSource(new ManualInstance());
    const opening = new ServedModel(CONFIG, source, shared).open(CONFIG, SIGNAL);
    shared.isEnding = true;
    await expect(opening).rejects.toMatchObject({ code: 'UNAVAILABLE', message: 'Server exiting' });
    expect([shared.openings.size, source.closes]).toEqual([0, 1]);
  });
});

describe('a served model in a thread that is blocked', () => {
  it('keeps what waits, refuses new requests, and is ready again when the thread goes on', async () => {
    const { repository, shared, instance, send, works, waits } = await serve();
    for (const opening of shared.openings) opening.ownerBlocked(true);
    expect(repository.find('m', 1)).toMatchObject({
      state: 'UNAVAILABLE',
      reason: 'the thread that it runs in is blocked',
    });
    expect(send).toThrow("model 'm' is not ready: the thread that it runs in is blocked");
    for (const opening of shared.openings) opening.ownerBlocked(false);
    expect(repository.find('m', 1)?.state).toBe('READY');
    instance.last.finish();
    pass();
    instance.last.finish();
    expect([works.outcome, waits.outcome]).toEqual(['ok', 'ok']);
  });

  it('is ready where its instance has a thread of its own', async () => {
    const { repository, shared, instance } = await serve();
    Object.assign(instance, { end: () => undefined });
    for (const opening of shared.openings) opening.ownerBlocked(true);
    expect(repository.find('m', 1)?.state).toBe('READY');
  });

  it('is not ready when it was opened just before', async () => {
    const repository = new ModelRepository();
    const control = new ModelControl(repository, { mode: 'explicit', logger: LOGGER });
    const shared = { ...surroundings(), isOwnerBlocked: true };
    control.bind(new ServedModel(CONFIG, new ManualSource(new ManualInstance()), shared));
    await control.load('m');
    expect(repository.find('m', 1)?.state).toBe('UNAVAILABLE');
  });
});

describe('a served model whose last instance has ended', () => {
  it('lets requests wait for a second and no longer, and refuses new ones', async () => {
    const { repository, source, instance, statistics, send, waits } = await serve();
    source.lose(instance);
    expect(repository.find('m', 1)).toMatchObject({ state: 'UNAVAILABLE', reason: 'all instances have ended' });
    expect(send).toThrow("model 'm' is not ready: all instances have ended");
    pass(999);
    expect([waits.outcome, statistics.fail.count]).toEqual([undefined, 0]);
    pass(1 + READING);
    expect([waits.outcome, statistics.fail.count]).toEqual([GIVEN_UP, 1]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('counts no standstill of its own thread, in which no instance could come', async () => {
    const { source, instance, waits } = await serve();
    source.lose(instance);
    standStill(60_000);
    pass(1000 + READING);
    expect(waits.outcome).toBeUndefined();
    const next = new ManualInstance();
    source.restart(next);
    pass();
    next.last.finish();
    expect([waits.outcome, vi.getTimerCount()]).toEqual(['ok', 0]);
  });

  it('gives the next instance what waits when it has come by the end of the second', async () => {
    const { source, instance, waits } = await serve();
    source.lose(instance);
    const next = new ManualInstance();
    // Its message is read after the timers.
    setTimeout(() => setImmediate(() => source.restart(next)), 1000);
    pass(1000 + READING);
    next.last.finish();
    expect(waits.outcome).toBe('ok');
  });

  it('answers what waits when an instance is there again in time', async () => {
    const { repository, source, instance, statistics, waits } = await serve();
    source.lose(instance);
    pass(999);
    const next = new ManualInstance();
    source.restart(next);
    expect([repository.find('m', 1)?.state, statistics.instanceRestarts]).toEqual(['READY', 1]);
    pass(10_000);
    next.last.finish();
    expect([waits.outcome, statistics.success.count]).toEqual(['ok', 1]);
  });

  it('serves again when an instance is there too late for what waited', async () => {
    const { source, instance, send, waits } = await serve();
    source.lose(instance);
    pass(5000);
    const next = new ManualInstance();
    source.restart(next);
    const later = send();
    pass();
    next.last.finish();
    expect([waits.outcome, later.outcome]).toEqual([GIVEN_UP, 'ok']);
  });

  it.each<[string, string, (control: ModelControl) => void]>([
    ['unloaded', 'UNLOADING', (control) => control.unload('m')],
    [
      'replaced',
      'READY',
      (control) => void control.replace({ config: CONFIG, open: () => ({ instances: [new ManualInstance()] }) }),
    ],
  ])('gives what waits to the instance that comes next, though the model is being %s', async (_, state, leave) => {
    const { repository, control, source, instance, waits } = await serve();
    leave(control);
    for (let step = 0; step < 20; step++) await Promise.resolve();
    source.lose(instance);
    instance.last.finish();
    pass(999);
    const next = new ManualInstance();
    source.restart(next);
    pass();
    next.last.finish();
    expect([waits.outcome, repository.find('m', 1)?.state]).toEqual(['ok', state]);
  });

  it('has no instance left and nothing under way after it was closed', async () => {
    const { control, shared, source, instance, works, waits } = await serve();
    source.lose(instance);
    await control.unbind('m', 1);
    const closed = control.retired(CONFIG);
    instance.last.finish();
    pass(1000 + READING);
    await closed;
    expect([works.outcome, waits.outcome, shared.openings.size, source.closes]).toEqual(['ok', GIVEN_UP, 0, 1]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
