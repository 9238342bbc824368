import { describe, expect, it } from 'vitest';
import { parseRestrictions, type RestrictionOptions } from './parse-restrictions.js';

function parse(options: Partial<RestrictionOptions>) {
  return parseRestrictions({
    accessToken: undefined,
    restrictedEndpoints: undefined,
    httpRestrictedApi: [],
    grpcRestrictedProtocol: [],
    ...options,
  });
}

const DEFAULTS = ['shared-memory', 'model-repository', 'trace', 'logging'];

describe('the access token', () => {
  it('guards what changes the server, on both protocols', () => {
    const { http, grpc, accessToken } = parse({ accessToken: 'let me in' });
    expect(accessToken).toBe('let me in');
    expect(http).toEqual([{ categories: DEFAULTS, key: 'triton-access-token', value: 'let me in' }]);
    expect(grpc).toEqual(http);
  });

  it('is random and another one each time when none is given', () => {
    const { accessToken, http } = parse({});
    expect(accessToken).toMatch(/^[\w-]{43}$/);
    expect(http[0]!.value).toBe(accessToken);
    expect(parse({}).accessToken).not.toBe(accessToken);
  });

  it('guards the endpoints that are listed instead', () => {
    expect(parse({ accessToken: 't', restrictedEndpoints: ['health', 'inference', 'health'] }).http).toEqual([
      { categories: ['health', 'inference'], key: 'triton-access-token', value: 't' },
    ]);
  });

  it('guards nothing when no endpoint is listed', () => {
    expect(parse({ accessToken: 't', restrictedEndpoints: [] })).toEqual({
      http: [],
      grpc: [],
      accessToken: undefined,
    });
  });

  it('leaves an API to the rule that it has of its own', () => {
    const { http, grpc } = parse({ accessToken: 't', httpRestrictedApi: ['trace,health:key=value'] });
    expect(http).toEqual([
      { categories: ['trace', 'health'], key: 'key', value: 'value' },
      { categories: DEFAULTS.filter((name) => name !== 'trace'), key: 'triton-access-token', value: 't' },
    ]);
    expect(grpc).toEqual([{ categories: DEFAULTS, key: 'triton-access-token', value: 't' }]);
  });
});

describe('rules for restricted APIs', () => {
  it('take everything behind the first equals sign for the value', () => {
    expect(parse({ restrictedEndpoints: [], httpRestrictedApi: ['logging:x-key=a=b:c'] }).http).toEqual([
      { categories: ['logging'], key: 'x-key', value: 'a=b:c' },
    ]);
  });

  it.each<[string, Partial<RestrictionOptions>, string]>([
    [
      'without a key',
      { httpRestrictedApi: ['trace'] },
      "httpRestrictedApi must be like 'api,api:key=value', got 'trace'",
    ],
    [
      'without a value',
      { grpcRestrictedProtocol: ['trace:key='] },
      "grpcRestrictedProtocol must be like 'api,api:key=value', got 'trace:…'",
    ],
    [
      'with a key that no header has',
      { httpRestrictedApi: ['trace:a key=1'] },
      "httpRestrictedApi needs a key that can be the name of a header, got 'a key'",
    ],
    [
      'with a value that no header has',
      { httpRestrictedApi: ['trace:key=a\nb'] },
      "the value of 'key' in httpRestrictedApi must be a non-empty string of visible ASCII characters, got other characters",
    ],
    [
      'for an unknown API',
      { httpRestrictedApi: ['tracing:key=1'] },
      "httpRestrictedApi names an unknown API 'tracing', expected some of health, metadata",
    ],
    [
      'for one API twice',
      { httpRestrictedApi: ['trace:a=1', 'logging,trace:b=2'] },
      "httpRestrictedApi names 'trace' twice, expected each in one group only",
    ],
    [
      'for an API that the token is to guard',
      { restrictedEndpoints: ['trace'], grpcRestrictedProtocol: ['trace:a=1'] },
      "'trace' is in restrictedEndpoints and in grpcRestrictedProtocol, expected each in one group only",
    ],
    [
      'for an unknown endpoint',
      { restrictedEndpoints: ['shared_memory'] },
      "restrictedEndpoints names an unknown API 'shared_memory', expected some of health",
    ],
    [
      'with an empty token',
      { accessToken: '' },
      "accessToken must be a non-empty string of visible ASCII characters, got ''",
    ],
  ])('are refused %s', (_, options, message) => {
    expect(() => parse(options)).toThrow(message);
  });
});
