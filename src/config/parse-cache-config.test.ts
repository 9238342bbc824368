import { describe, expect, it } from 'vitest';

import { parseCacheConfig } from './parse-cache-config.js';

describe('parseCacheConfig', () => {
  it.each<[readonly string[], number | undefined, number | undefined]>([
    [[], undefined, undefined],
    [[], 1024, 1024],
    [['local,size=1048576'], undefined, 1_048_576],
    [[' local , size=1 '], undefined, 1],
  ])('makes of %j and %j a cache of %j bytes', (cacheConfig, byteSize, expected) => {
    expect(parseCacheConfig(cacheConfig, byteSize)).toBe(expected);
  });

  it('refuses both ways at once', () => {
    expect(() => parseCacheConfig(['local,size=5'], 5)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARG',
        message:
          "Incompatible options responseCacheByteSize and cacheConfig both provided, got 5 and 'local,size=5'. Please provide one or the other.",
      }),
    );
  });

  it('refuses a second cache', () => {
    expect(() => parseCacheConfig(['local,size=5', 'local,size=6'], undefined)).toThrow(
      "found multiple cache configurations, but only a single cache is currently supported, got 'local,size=5', 'local,size=6'",
    );
  });

  it('refuses caches that are not there', () => {
    expect(() => parseCacheConfig(['redis,host=localhost'], undefined)).toThrow(
      expect.objectContaining({
        code: 'UNSUPPORTED',
        message: "cacheConfig: the only cache is 'local', got 'redis,host=localhost'",
      }),
    );
  });

  it.each([
    'local',
    'local,',
    'local,size=',
    'local,size=0',
    'local,size=-1',
    'local,size=1e6',
    'local,size=5,size=6',
    'local,bytes=5',
    'local,size=99999999999999999999',
  ])('refuses %s', (entry) => {
    expect(() => parseCacheConfig([entry], undefined)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARG',
        message: `cacheConfig must be like 'local,size=1048576' with a size of at least 1 byte, got '${entry}'`,
      }),
    );
  });
});
