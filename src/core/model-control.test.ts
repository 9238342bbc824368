import { afterEach, describe, expect, it, vi } from 'vitest';

import { inferRequest, RecordingSink, wireTensor } from '../../test/support/infer-requests.js';
import { ManualInstance } from '../../test/support/scheduler-harness.js';
import { TritonError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { completeModelConfig } from '../model/complete-model.js';
import { ModelControl, type ModelControlMode } from './model-control.js';
import type { LoadableModel } from './model-loads.js';
import { ModelRepository } from './model-repository.js';
import type { Opening } from './opening.js';

const LOGGER = { error: () => undefined, warn: () => undefined, info: () => undefined, verbose: () => undefined };

function given(mode: ModelControlMode = 'explicit') {
  const repository = new ModelRepository();
  return { repository, control: new ModelControl(repository, { mode, logger: LOGGER }) };
}

function model(
  modelName: string,
  modelVersion = 1,
  open: () => readonly ManualInstance[] | Promise<readonly ManualInstance[]> = () => [new ManualInstance()],
  close?: () => void,
): LoadableModel {
  const tensor = { dtype: 'float32', shape: [1] } as const;
  return {
    config: completeModelConfig({ modelName, modelVersion, inputs: { x: tensor }, outputs: { y: tensor } }, 1),
    open: async () => ({ instances: await open(), ...(close && { close }) }),
  };
}

/** What was asked before has been done. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

afterEach(() => void vi.useRealTimers());

describe('the model repository extension', () => {
  it('lists models that were never loaded by name alone, and loaded versions with their state', async () => {
    const { control } = given();
    control.bind(model('b', 2));
    control.bind(model('b', 10));
    control.bind(model('a'));
    await control.loadVersion('b', 10);
    await control.loadVersion('b', 2);
    expect(control.index(false)).toEqual([
      { name: 'a', version: '', state: '', reason: '' },
      { name: 'b', version: '2', state: 'READY', reason: '' },
      { name: 'b', version: '10', state: 'READY', reason: '' },
    ]);
    control.unload('b');
    await turn();
    expect(control.index(false)[1]).toEqual({ name: 'b', version: '2', state: 'UNAVAILABLE', reason: 'unloaded' });
    expect(control.index(true)).toEqual([]);
  });

  it('tells how long the last load took, until the instances were there', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const taking = (milliseconds: number) => (): readonly ManualInstance[] => {
      vi.advanceTimersByTime(milliseconds);
      return [new ManualInstance()];
    };
    const { repository, control } = given();
    const seconds = () => repository.find('m', 1)!.model.statistics.loadSeconds;
    control.bind(model('m', 1, taking(1500)));
    await control.loadVersion('m', 1);
    expect(seconds()).toBe(1.5);
    await control.replace(model('m', 1, taking(2500)));
    expect(seconds()).toBe(2.5);
    control.bind(model('failing', 1, () => Promise.reject(new Error('no weights'))));
    await expect(control.loadVersion('failing', 1)).rejects.toThrow('no weights');
    expect(repository.find('failing', 1)!.model.statistics.loadSeconds).toBeUndefined();
    expect(repository.loadedModels().map(({ config }) => config.name)).toEqual(['m']);
  });

  it('loads what replaces a model that did not load, or has lost its instances, and not what is unloaded', async () => {
    const { repository, control } = given();
    control.bind(model('m', 1, () => Promise.reject(new Error('no weights'))));
    await expect(control.loadVersion('m', 1)).rejects.toThrow('no weights');
    await expect(control.replace(model('m', 1, () => Promise.reject(new Error('still none'))))).rejects.toThrow(
      'still',
    );
    await control.replace(model('m'));
    expect(repository.readyVersions('m')).toEqual(['1']);

    const lost = new ManualInstance();
    await control.replace(model('m', 1, () => [lost]));
    repository.get('m', '').removeInstance(lost);
    expect(repository.readyVersions('m')).toEqual([]);
    await control.replace(model('m'));
    expect(repository.readyVersions('m')).toEqual(['1']);

    control.unload('m');
    await control.replace(model('m', 1, () => expect.unreachable()));
    expect(repository.readyVersions('m')).toEqual([]);
  });

  it('serves with the instances that live when all are warmed up, and not without any', async () => {
    const { repository, control } = given();
    // Those that live when it is asked first, and later.
    const opening = (...living: (readonly ManualInstance[])[]): Opening => ({
      get instances() {
        return living.length > 1 ? living.shift()! : living[0]!;
      },
    });
    const [dead, alive] = [new ManualInstance(), new ManualInstance()];
    control.bind({ ...model('some'), open: () => opening([dead], [alive]) });
    await control.load('some');
    repository.get('some', '').removeInstance(alive);
    expect(repository.find('some', 1)!.status).toBe('interrupted');
    control.bind({ ...model('none'), open: () => opening([dead], []) });
    await expect(control.loadVersion('none', 1)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: 'all instances have ended',
    });
  });

  it('answers what waits for an instance that is being started again when its model is replaced', async () => {
    const { repository, control } = given();
    const [lost, again] = [new ManualInstance(), new ManualInstance()];
    control.bind(model('m', 1, () => [lost]));
    await control.load('m');
    const old = repository.find('m', 1)!;
    old.model.removeInstance(lost);
    const sink = new RecordingSink();
    old.model.infer(inferRequest({ inputs: [wireTensor('x', 'float32', Float32Array.of(1), [1, 1])] }), sink);
    const replaced = control.replace(model('m'));
    await turn();
    old.model.addInstance(again);
    await turn();
    again.last.finish();
    await replaced;
    expect(sink.outcome).toBe('ok');
    expect(repository.get('m', '')).not.toBe(old.model);
  });

  it('loads every version, and does not know a model before', async () => {
    const { repository, control } = given();
    control.bind(model('m', 1));
    control.bind(model('m', 3));
    expect(() => repository.get('m', '')).toThrow("Request for unknown model: 'm' is not found");
    await control.load('m');
    expect(repository.readyVersions('m')).toEqual(['1', '3']);
  });

  describe('loads with another configuration', () => {
    const withRows = (maxBatchSize: number) => (config: CompleteModelConfig) => ({ ...config, maxBatchSize });
    const rows = (repository: ModelRepository) => repository.get('m', '').config.maxBatchSize;

    it('until it is unloaded', async () => {
      const { repository, control } = given();
      control.bind(model('m'));
      await control.load('m', withRows(7));
      expect(rows(repository)).toBe(7);
      // A load that says nothing of it leaves what is loaded.
      await control.load('m');
      expect(rows(repository)).toBe(7);
      control.unload('m');
      await control.load('m');
      expect(rows(repository)).toBe(4);
    });

    it('and has what was loaded before serve until then, and finish', async () => {
      const { repository, control } = given();
      const instances: ManualInstance[] = [];
      const closed: number[] = [];
      let opened: (() => void) | undefined;
      const open = async ({ maxBatchSize }: CompleteModelConfig): Promise<Opening> => {
        if (opened !== undefined) await new Promise<void>((resolve) => (opened = resolve));
        const instance = new ManualInstance();
        instances.push(instance);
        return { instances: [instance], close: () => void closed.push(maxBatchSize) };
      };
      control.bind({ ...model('m'), open });
      await control.load('m');
      const send = () => {
        const sink = new RecordingSink();
        const inputs = [wireTensor('x', 'float32', Float32Array.of(1), [1, 1])];
        repository.get('m', '').infer(inferRequest({ inputs }), sink);
        return sink;
      };
      const before = send();
      opened = () => undefined;
      const loaded = control.load('m', withRows(2));
      await turn();
      expect(rows(repository)).toBe(4);
      opened();
      await loaded;
      expect(rows(repository)).toBe(2);
      const after = send();
      await expect.poll(() => instances.map(({ executions }) => executions.length)).toEqual([1, 1]);
      expect(closed).toEqual([]);
      instances[0]!.last.finish();
      await before.ended;
      await expect.poll(() => closed).toEqual([4]);
      instances[1]!.last.finish();
      await after.ended;
      expect(repository.get('m', '').statistics.inferenceCount).toBe(1);
    });

    it('and keeps what serves when it cannot be, or does not start', async () => {
      const { repository, control } = given();
      let fails = false;
      control.bind(
        model('m', 1, () => {
          if (fails) throw new TritonError('UNAVAILABLE', 'no weights');
          return [new ManualInstance()];
        }),
      );
      await control.load('m');
      const refused = control.load('m', () => {
        throw new TritonError('INVALID_ARG', 'no such configuration');
      });
      await expect(refused).rejects.toMatchObject({ code: 'INVALID_ARG', message: 'no such configuration' });
      fails = true;
      await expect(control.load('m', withRows(2))).rejects.toMatchObject({
        code: 'INVALID_ARG',
        message: "load failed for model 'm': version 1 is at UNAVAILABLE state: Unavailable: no weights;\n",
      });
      expect([repository.find('m', 1)!.state, rows(repository)]).toEqual(['READY', 4]);
    });

    it('and serves the versions that its policy says', async () => {
      const { repository, control } = given();
      for (const version of [1, 2, 3]) control.bind(model('m', version));
      await control.load('m');
      const policy = (versions: number[]) => (config: CompleteModelConfig) => ({
        ...config,
        versionPolicy: { specific: { versions } },
      });
      await control.load('m', policy([2]));
      await expect.poll(() => repository.readyVersions('m')).toEqual(['2']);
      await expect(control.load('m', policy([7]))).rejects.toThrow(
        "load failed for model 'm': at least one version must be available under the version policy of model 'm'\n",
      );
      expect(repository.readyVersions('m')).toEqual(['2']);
    });
  });

  it('leaves a loaded model as it is when it is loaded again', async () => {
    const { repository, control } = given();
    control.bind(model('m'));
    await control.load('m');
    const before = repository.get('m', '');
    await control.load('m');
    expect(repository.get('m', '')).toBe(before);
  });

  it('starts a model anew after it was unloaded', async () => {
    const { repository, control } = given();
    control.bind(model('m'));
    await control.load('m');
    const before = repository.get('m', '');
    control.unload('m');
    await control.load('m');
    expect(repository.get('m', '')).not.toBe(before);
    expect(control.index(false)).toEqual([{ name: 'm', version: '1', state: 'READY', reason: '' }]);
  });

  describe('a version that is unloaded while its requests are under way', () => {
    async function unloading() {
      const { repository, control } = given();
      const instances: ManualInstance[] = [];
      const closed: ManualInstance[] = [];
      control.bind({
        ...model('m'),
        open: async () => {
          const instance = new ManualInstance();
          instances.push(instance);
          return { instances: [instance], close: () => void closed.push(instance) };
        },
      });
      const send = () => {
        const sink = new RecordingSink();
        const inputs = [wireTensor('x', 'float32', Float32Array.of(1), [1, 1])];
        repository.get('m', '').infer(inferRequest({ inputs }), sink);
        return sink;
      };
      await control.load('m');
      const held = send();
      await turn();
      control.unload('m');
      const finish = async () => {
        instances[0]!.last.finish();
        await held.ended;
        await turn();
      };
      return { repository, control, instances, closed, send, held, finish };
    }

    it('lets them finish, and takes no more', async () => {
      const { repository, control, closed, held, finish } = await unloading();
      expect(() => repository.get('m', '')).toThrow("Request for unknown model: 'm' has no available versions");
      expect(() => repository.get('m', '1')).toThrow("Request for unknown model: 'm' version 1 is not at ready state");
      await turn();
      expect(control.index(false)).toEqual([{ name: 'm', version: '1', state: 'UNLOADING', reason: '' }]);
      expect(closed).toEqual([]);
      await finish();
      expect([held.outcome, closed.length, control.index(false)[0]!.reason]).toEqual(['ok', 1, 'unloaded']);
    });

    it('is loaded again while they last, with an opening of its own', async () => {
      const { control, instances, closed, send, held, finish } = await unloading();
      await control.load('m');
      expect(control.index(false)).toEqual([{ name: 'm', version: '1', state: 'READY', reason: '' }]);
      const later = send();
      await expect.poll(() => instances[1]?.executions.length).toBe(1);
      instances[1]!.last.finish();
      await later.ended;
      expect([held.outcome, later.outcome, closed]).toEqual([undefined, 'ok', []]);
      await finish();
      expect([held.outcome, closed]).toEqual(['ok', [instances[0]]]);
      expect(control.index(false)[0]!.state).toBe('READY');
    });

    it('is loaded with another configuration, unloaded again, replaced and unbound while they last', async () => {
      const { repository, control, instances, closed, held, finish } = await unloading();
      await control.load('m', (config) => ({ ...config, maxBatchSize: 7 }));
      expect(repository.get('m', '').config.maxBatchSize).toBe(7);
      control.unload('m');
      await expect.poll(() => closed).toEqual([instances[1]]);
      await control.replace(model('m', 1, () => expect.unreachable()));
      await control.unbind('m', 1);
      let isRetired = false;
      const retired = control.retired({ name: 'm', version: 1 }).then(() => (isRetired = true));
      await turn();
      expect([held.outcome, isRetired, repository.runningModels().length]).toEqual([undefined, false, 1]);
      await finish();
      await retired;
      expect([held.outcome, closed, repository.runningModels()]).toEqual(['ok', [instances[1], instances[0]], []]);
    });
  });

  it('has no sequence of an unloaded version go on in the next load', async () => {
    const { repository, control } = given();
    const tensor = { dtype: 'float32', shape: [1] } as const;
    const spec = { modelName: 'm', inputs: { x: tensor }, outputs: { y: tensor }, config: { sequenceBatching: {} } };
    const instances: ManualInstance[] = [];
    const open = () => {
      instances.push(new ManualInstance());
      return { instances: [instances.at(-1)!] };
    };
    control.bind({ config: completeModelConfig(spec, 1), open });
    await control.load('m');
    const send = (start: boolean) => {
      const sink = new RecordingSink();
      const inputs = [wireTensor('x', 'float32', Float32Array.of(1), [1, 1])];
      repository.get('m', '').infer(inferRequest({ inputs, sequence: { id: 7n, start, end: false } }), sink);
      return sink;
    };
    const first = send(true);
    await expect.poll(() => instances[0]!.executions.length).toBe(1);
    control.unload('m');
    await control.load('m');
    const second = send(false);
    await expect.poll(() => second.error?.message).toContain('must specify the START flag');
    instances[0]!.last.finish();
    await first.ended;
  });

  it('tells why a model could not be loaded, keeps the server from being ready, and tries again when asked', async () => {
    const { repository, control } = given();
    let tries = 0;
    control.bind(
      model('m', 1, () => {
        if (tries++ === 0) throw new TritonError('UNAVAILABLE', 'weights are missing');
        return [new ManualInstance()];
      }),
    );
    await expect(control.load('m')).rejects.toMatchObject({
      code: 'INVALID_ARG',
      message: "load failed for model 'm': version 1 is at UNAVAILABLE state: Unavailable: weights are missing;\n",
    });
    expect(control.index(false)).toEqual([
      { name: 'm', version: '1', state: 'UNAVAILABLE', reason: 'Unavailable: weights are missing' },
    ]);
    expect(repository.allReady).toBe(false);
    control.unload('m');
    await turn();
    expect(control.index(false)[0]!.reason).toBe('Unavailable: weights are missing');
    await control.load('m');
    expect(repository.allReady).toBe(true);
  });

  it('rejects the load of one version with what its start failed with', async () => {
    const { control } = given();
    control.bind(model('m', 1, () => Promise.reject(new Error('no weights'))));
    await expect(control.loadVersion('m', 1)).rejects.toMatchObject({ code: 'INTERNAL', message: 'no weights' });
  });

  it('does not know names that are not bound', async () => {
    const { control } = given();
    await expect(control.load('nope')).rejects.toMatchObject({
      code: 'INVALID_ARG',
      message: "failed to load 'nope', failed to poll from model repository",
    });
    control.unload('nope');
    expect(control.has('nope')).toBe(false);
  });

  it.each(['', ' ', '\t\n'])('does not load what has no name: %j', async (name) => {
    const { control } = given();
    await expect(control.load(name)).rejects.toMatchObject({
      code: 'INVALID_ARG',
      message: 'Model name cannot be empty. Please enter a valid name to deploy.',
    });
  });

  it.each(['..', '.', '../m', 'm/../n', 'a/b', 'a\\b', '/m'])('does not load by a path: %s', async (name) => {
    const { control } = given();
    await expect(control.load(name)).rejects.toMatchObject({
      code: 'INVALID_ARG',
      message: `invalid model name '${name}', model name must not contain path traversal characters`,
    });
  });

  it('loads a model with dots in its name', async () => {
    const { control, repository } = given();
    control.bind(model('a..b.', 1));
    await control.load('a..b.');
    expect(repository.allReady).toBe(true);
  });

  it('unloads a model that is being loaded once it is there', async () => {
    const { control } = given();
    let opened!: () => void;
    const open = () => new Promise<ManualInstance[]>((resolve) => (opened = () => resolve([new ManualInstance()])));
    control.bind(model('m', 1, open));
    const loading = control.load('m');
    await turn();
    expect(control.index(false)[0]!.state).toBe('LOADING');
    control.unload('m');
    opened();
    await loading;
    await turn();
    expect(control.index(false)[0]).toMatchObject({ state: 'UNAVAILABLE', reason: 'unloaded' });
  });

  it.each(['load', 'load with a configuration'])(
    'opens a version once for each %s, and closes each opening once',
    async (how) => {
      const { repository, control } = given();
      const [opened, closed] = [[] as ManualInstance[], [] as ManualInstance[]];
      control.bind({
        ...model('m'),
        open: async () => {
          const instance = new ManualInstance();
          opened.push(instance);
          return { instances: [instance], close: () => void closed.push(instance) };
        },
      });
      await control.load('m');
      repository.get('m', '').removeInstance(opened[0]!);
      expect(repository.find('m', 1)!.state).toBe('UNAVAILABLE');
      const override = how === 'load' ? undefined : (config: CompleteModelConfig) => config;
      await control.load('m', override);
      control.unload('m');
      const loads = [control.load('m', override), control.load('m', override)];
      control.unload('m');
      await Promise.all(loads);
      await control.unbind('m', 1);
      expect(closed.toSorted((a, b) => opened.indexOf(a) - opened.indexOf(b))).toEqual(opened);
      expect(repository.runningModels()).toEqual([]);
    },
  );

  it('does not try what failed again because of another version', async () => {
    const { repository, control } = given('none');
    let tries = 0;
    control.bind(
      model('m', 1, () => {
        tries++;
        throw new Error('no weights');
      }),
    );
    await expect(control.applyVersionPolicy('m', 1)).rejects.toThrow('no weights');
    control.bind(model('m', 2));
    await control.applyVersionPolicy('m', 2);
    expect([tries, repository.readyVersions('m')]).toEqual([1, ['2']]);
  });

  it('tells when every load of a version that was replaced or unbound has ended, and waits for none', async () => {
    const { repository, control } = given();
    const instances: ManualInstance[] = [];
    control.bind(
      model('m', 1, () => {
        instances.push(new ManualInstance());
        return [instances.at(-1)!];
      }),
    );
    await control.load('m');
    const sink = new RecordingSink();
    repository
      .get('m', '')
      .infer(inferRequest({ inputs: [wireTensor('x', 'float32', Float32Array.of(1), [1, 1])] }), sink);
    await turn();
    await control.load('m', (config) => config);
    let isDone = false;
    const retired = () => control.retired({ name: 'm', version: 1 }).then(() => (isDone = true));
    await control.replace(model('m'));
    const replaced = retired();
    await control.unbind('m', 1);
    const unbound = retired();
    await turn();
    expect([isDone, sink.outcome]).toEqual([false, undefined]);
    instances[0]!.last.finish();
    await Promise.all([replaced, unbound]);
    expect(sink.outcome).toBe('ok');
  });

  it('is closed to clients unless they are to control models', async () => {
    const { control } = given('none');
    control.bind(model('m'));
    const refused = {
      code: 'UNAVAILABLE',
      message: 'explicit model load / unload is not allowed if polling is enabled',
    };
    await expect(control.load('m')).rejects.toMatchObject(refused);
    await expect(control.load('nope')).rejects.toMatchObject(refused);
    expect(() => control.unload('nope')).toThrow(expect.objectContaining(refused));
  });
});
