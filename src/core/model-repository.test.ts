import { describe, expect, it } from 'vitest';

import { completeModelConfig } from '../model/complete-model.js';
import { ManualInstance } from '../../test/support/scheduler-harness.js';
import type { ModelEntry } from './model-entry.js';
import { ModelRepository } from './model-repository.js';

const BECOME: Readonly<Record<string, (entry: ModelEntry) => void>> = {
  LOADING: () => undefined,
  READY: (entry) => entry.serve({ instances: [new ManualInstance()] }),
  UNLOADING: (entry) => {
    entry.serve({ instances: [new ManualInstance()] });
    void entry.retire();
  },
  UNAVAILABLE: (entry) => entry.failed('no weights'),
};

/** A repository with versions such as `a:1 READY`. */
function repositoryOf(...versions: string[]): ModelRepository {
  const repository = new ModelRepository();
  for (const text of versions) {
    const [modelName = '', version, state] = text.split(/[: ]/);
    const spec = { modelName, modelVersion: Number(version), inputs: {}, outputs: {} };
    BECOME[state!]!(repository.add(completeModelConfig(spec, 1)));
  }
  return repository;
}

describe('ModelRepository', () => {
  it('finds the version that was asked for, or the latest that is ready', () => {
    const repository = repositoryOf('a:2 READY', 'a:10 READY', 'a:11 LOADING', 'b:1 READY');
    expect(repository.get('a', '2').config.version).toBe(2);
    expect(repository.get('a', '').config.version).toBe(10);
    expect(repository.readyVersions('a')).toEqual(['2', '10']);
    expect(repository.readyVersions('nope')).toEqual([]);
  });

  it('says of a model whose instances have all ended that it is not there for the moment', () => {
    const repository = repositoryOf('m:1 READY');
    const instance = new ManualInstance();
    const entry = repository.add(repository.get('m', '1').config);
    entry.serve({ instances: [instance] });
    entry.model.removeInstance(instance);
    expect(() => repository.get('m', '')).toThrow(
      expect.objectContaining({ code: 'UNAVAILABLE', message: "model 'm' is not ready: all instances have ended" }),
    );
  });

  it.each([
    ['an unknown name', 'nope', '', 'NOT_FOUND', "Request for unknown model: 'nope' is not found"],
    ['an unknown name with a version', 'nope', '1', 'NOT_FOUND', "Request for unknown model: 'nope' is not found"],
    ['an unknown version', 'a', '7', 'NOT_FOUND', "Request for unknown model: 'a' version 7 is not found"],
    ['version 0', 'a', '0', 'NOT_FOUND', "Request for unknown model: 'a' version 0 is not found"],
    [
      'the latest of a model without a ready one',
      'b',
      '',
      'NOT_FOUND',
      "Request for unknown model: 'b' has no available versions",
    ],
    [
      'a version that is not ready',
      'b',
      '1',
      'UNAVAILABLE',
      "Request for unknown model: 'b' version 1 is not at ready state",
    ],
    [
      'no number',
      'a',
      'x',
      'INVALID_ARG',
      "failed to get model version from specified version string 'x' (details: stol), version should be an integral value > 0",
    ],
    [
      'no number for an unknown name',
      'nope',
      'x',
      'INVALID_ARG',
      "failed to get model version from specified version string 'x' (details: stol), version should be an integral value > 0",
    ],
  ])("refuses %s in Triton's words", (_, name, version, code, message) => {
    const repository = repositoryOf('a:1 READY', 'b:1 UNLOADING');
    expect(() => repository.get(name, version)).toThrow(expect.objectContaining({ code, message }));
  });

  it('lists versions by name, then number', () => {
    const repository = repositoryOf('b:10 READY', 'b:9 READY', 'a:1 READY');
    expect(repository.entries().map(({ model: { config } }) => `${config.name}:${config.version}`)).toEqual([
      'a:1',
      'b:9',
      'b:10',
    ]);
  });

  it('forgets a version, and a model with its last one', () => {
    const repository = repositoryOf('a:1 READY', 'a:2 READY');
    repository.remove('a', 2);
    expect(repository.get('a', '').config.version).toBe(1);
    repository.remove('a', 1);
    repository.remove('a', 1);
    expect(() => repository.get('a', '')).toThrow("'a' is not found");
  });

  it('replaces a version of the same name and number', () => {
    const repository = repositoryOf('a:1 READY');
    const first = repository.get('a', '1');
    repository.add(first.config).serve({ instances: [new ManualInstance()] });
    expect(repository.get('a', '1')).not.toBe(first);
    expect(repository.versions('a')).toHaveLength(1);
    expect(repository.find('a', 1)?.state).toBe('READY');
  });

  it.each([
    ['nothing is loaded', [], true],
    ['all are ready', ['a:1 READY', 'b:1 READY'], true],
    ['one is loading', ['a:1 READY', 'b:1 LOADING'], false],
    ['one is being unloaded, as with Triton', ['a:1 READY', 'b:1 UNLOADING'], false],
    ['one could not be loaded', ['a:1 READY', 'b:1 UNAVAILABLE'], false],
  ])('tells whether all models are ready when %s', (_, versions, expected) => {
    expect(repositoryOf(...versions).allReady).toBe(expected);
  });

  it('counts a model that was unloaded on request as ready', async () => {
    const repository = repositoryOf('a:1 UNLOADING');
    await repository.find('a', 1)!.retire();
    expect(repository.allReady).toBe(true);
  });
});
