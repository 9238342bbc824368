import { describe, expect, it } from 'vitest';

import { completeVersionPolicy, servedVersions, type VersionPolicy } from './version-policy.js';

describe('a version policy', () => {
  it.each<[VersionPolicy, number[]]>([
    [{ all: {} }, [1, 2, 10]],
    [{ latest: { numVersions: 1 } }, [10]],
    [{ latest: { numVersions: 2 } }, [2, 10]],
    [{ latest: { numVersions: 9 } }, [1, 2, 10]],
    [{ specific: { versions: [1, 3] } }, [1]],
  ])('%o serves the versions %o of 1, 2 and 10', (policy, served) => {
    expect([...servedVersions(completeVersionPolicy(policy, 'it'), [2, 10, 1])].sort((a, b) => a - b)).toEqual(served);
  });

  it.each([
    [{}, 'it must be one of all, latest and specific, got none'],
    [{ all: {}, latest: { numVersions: 1 } }, 'it must be one of all, latest and specific, got all and latest'],
    [{ latest: { numVersions: 0 } }, 'numVersions of it must be an integer from 1'],
    [{ latest: {} }, 'numVersions of it'],
    [{ specific: { versions: 1 } }, 'versions of it must be a list, got number'],
    [{ specific: { versions: [0] } }, 'a version of it must be an integer >= 1, got 0'],
    [{ last: { numVersions: 1 } }, "it has an unknown option 'last'"],
  ])('%o is refused', (policy, message) => {
    expect(() => completeVersionPolicy(policy as VersionPolicy, 'it')).toThrow(message);
  });
});
