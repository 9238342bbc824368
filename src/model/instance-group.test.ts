import { describe, expect, it } from 'vitest';

import { instanceGroup, isInstanceGroup, type InstanceGroupOptions } from './instance-group.js';

const MODULE = new URL('file:///models/model.js');

describe('instanceGroup', () => {
  it('is one thread without options, and as many as there are args', () => {
    expect(instanceGroup(MODULE)).toMatchObject({ url: 'file:///models/model.js', count: 1, args: [] });
    expect(instanceGroup(MODULE.href, { args: [{ device: 0 }, { device: 1 }] }).count).toBe(2);
  });

  it('keeps what it was given, and not the very lists', () => {
    const options = {
      count: 1,
      args: [1],
      env: { A: 'a' },
      execArgv: ['--no-warnings'],
      resourceLimits: { maxOldGenerationSizeMb: 64 },
    };
    const group = instanceGroup(MODULE, options);
    expect(group).toEqual({ url: MODULE.href, ...options });
    options.args.push(2);
    options.env.A = 'b';
    expect([group.args, group.env]).toEqual([[1], { A: 'a' }]);
  });

  it('is known by its brand', () => {
    expect([isInstanceGroup(instanceGroup(MODULE)), isInstanceGroup({ url: MODULE.href, count: 1 })]).toEqual([
      true,
      false,
    ]);
  });

  it.each<[unknown, string]>([
    [{ count: 0 }, 'count of instanceGroup(file:///models/model.js) must be an integer from 1 to 1024, got 0'],
    [{ cuont: 2 }, "unknown option 'cuont'; did you mean 'count'?"],
    [{ count: 2, args: [1] }, 'has 1 entries for 2 instances, expected one per instance'],
    [{ args: 'ab' }, 'args of instanceGroup(file:///models/model.js) must be a list, got "ab"'],
    [{ args: [1, () => 1] }, 'args[1] of instanceGroup(file:///models/model.js) cannot cross into a thread'],
    [{ env: { A: 3 } }, 'env.A of instanceGroup(file:///models/model.js) must be a string, got 3'],
    [{ env: 'A=3' }, 'env of instanceGroup(file:///models/model.js) must be an object'],
    [{ execArgv: '--x' }, 'execArgv of instanceGroup(file:///models/model.js) must be a list of strings, got "--x"'],
    [{ resourceLimits: { maxOldGenerationSizeMB: 3 } }, "did you mean 'maxOldGenerationSizeMb'?"],
    [{ resourceLimits: { stackSizeMb: 0 } }, 'resourceLimits.stackSizeMb of instanceGroup(file:///models/model.js)'],
    [{ resourceLimits: { stackSizeMb: '4' } }, 'must be a number of megabytes above 0, got "4"'],
  ])('refuses %o', (options, message) => {
    expect(() => instanceGroup(MODULE, options as InstanceGroupOptions)).toThrow(message);
  });

  it.each(['./model.js', 'https://example.com/model.js'])('refuses %s, which is no file: URL', (url) => {
    expect(() => instanceGroup(url)).toThrow(`got ${url}`);
  });
});
