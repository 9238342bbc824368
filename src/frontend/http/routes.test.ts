import { describe, expect, it } from 'vitest';

import { ENDPOINTS } from './endpoints.js';
import { matchRoute } from './routes.js';

describe('a path is found', () => {
  it.each<[string, string]>([
    ['/v2', 'server metadata'],
    ['/v2?x=1', 'server metadata'],
    ['/v2/health/live', 'live'],
    ['/v2/health/ready?', 'ready'],
    ['/v2/models/stats', 'statistics'],
    ['/v2/logging', 'logging'],
    ['/v2/trace/setting', 'trace'],
    ['/v2/repository/index', 'repository index'],
    ['/v2/systemsharedmemory/status', 'system shared memory status'],
    ['/v2/systemsharedmemory/region/r/register', 'system shared memory register'],
    ['/v2/cudasharedmemory/unregister', 'cuda shared memory unregister'],
    ['http://localhost:8000/v2', 'server metadata'],
    ['https://user@host/v2/health/live?x=/v2', 'live'],
  ])('%s: %s', (path, endpoint) => {
    expect(matchRoute(path)).toMatchObject({ endpoint, model: '', version: '' });
  });

  it.each<[string, string, string, string]>([
    ['/v2/models/m', 'model metadata', 'm', ''],
    ['/v2/models/m?stats', 'model metadata', 'm', ''],
    ['/v2/models/m/versions/12', 'model metadata', 'm', '12'],
    ['/v2/models/m/infer', 'infer', 'm', ''],
    ['/v2/models/m/versions/01/infer', 'infer', 'm', '01'],
    ['/v2/models/m/versions/99999999999999999999/ready', 'model ready', 'm', '99999999999999999999'],
    ['/v2/models/m/config', 'model config', 'm', ''],
    ['/v2/models/m/versions/0/stats', 'statistics', 'm', '0'],
    ['/v2/models/m/generate', 'generate', 'm', ''],
    ['/v2/models/m/versions/1/generate_stream', 'generate stream', 'm', '1'],
    ['/v2/models/m/trace/setting', 'trace', 'm', ''],
    ['/v2/models/stats/infer', 'infer', 'stats', ''],
    ['/v2/models/ready', 'model metadata', 'ready', ''],
    ['/v2/models/versions/versions/1', 'model metadata', 'versions', '1'],
    ['/v2/models/add%73ub/infer', 'infer', 'add%73ub', ''],
    ['/v2/models/m%2Fready', 'model metadata', 'm%2Fready', ''],
    ['/v2/models/m#frag', 'model metadata', 'm#frag', ''],
  ])('%s: %s of %s, version %j', (path, endpoint, model, version) => {
    expect(matchRoute(path)).toMatchObject({ endpoint, model, version });
  });
});

it.each([
  ['%20', ' '],
  ['%20%09%0A', ' \t\n'],
  ['relo%61d', 'relo%61d'],
  ['a%20b', 'a%20b'],
])('the name %j of a model to load is %j: only blank names are decoded', (name, model) => {
  expect(matchRoute(`/v2/repository/models/${name}/load`)).toMatchObject({ endpoint: 'model load', model });
});

it.each([
  '/',
  '*',
  '',
  '/v1',
  '/V2',
  '/v2/',
  '//v2',
  '/v2%2Fhealth%2Flive',
  '/v2/health',
  '/v2/health/',
  '/v2/health/live/',
  '/v2/health/live;x=1',

  '/v2/models/',
  '/v2/models//',
  '/v2/models//infer',
  '/v2/models/m/',
  '/v2/models/m/infer/',
  '/v2/models/m/Infer',
  '/v2/models/m/foo',
  '/v2/models/../models/m',
  '/v2/models/m/constructor',
  '/v2/models/m/infer/foo',
  '/v2/models/m/ready%00',
  '/v2/models/m/versions',
  '/v2/models/m/versions/',
  '/v2/models/m/versions/infer',
  '/v2/models/m/versions//infer',
  '/v2/models/m/versions/1/',
  '/v2/models/m/versions/1//ready',
  '/v2/models/m/versions/-1',
  '/v2/models/m/versions/+1/infer',
  '/v2/models/m/versions/1.0',
  '/v2/models/m/versions/%31',
  '/v2/models/m/versions/1/foo',
  '/v2/models/m/versions/1/trace/setting',
  '/v2/models/stats/',
  '/v2/repository',
  '/v2/repository/models',
  '/v2/repository/models/m',
  '/v2/repository/models//load',
  '/v2/repository/index/',
  '/v2/systemsharedmemory',
  '/v2/systemsharedmemory/region/r',
  '/metrics',
  'ftp://localhost/v2',
])('nothing is at %j', (path) => {
  expect(matchRoute(path)).toBeUndefined();
});

it('a path of the repository names model and repository', () => {
  expect(matchRoute('/v2/repository/models/m/load')).toMatchObject({
    endpoint: 'model load',
    model: 'm',
    repository: undefined,
  });
  expect(matchRoute('/v2/repository/repo/models/m/unload')).toMatchObject({
    endpoint: 'model unload',
    model: 'm',
    repository: 'repo',
  });
  expect(matchRoute('/v2/repository/repo/index')).toMatchObject({ endpoint: 'repository index', repository: 'repo' });
  // A repository may be called models.
  expect(matchRoute('/v2/repository/models/index')).toMatchObject({
    endpoint: 'repository index',
    repository: 'models',
  });
});

it('a path of shared memory names the region', () => {
  expect(matchRoute('/v2/systemsharedmemory/region/r%20s/register')!.region).toBe('r%20s');
  expect(matchRoute('/v2/systemsharedmemory/unregister')!.region).toBeUndefined();
});

it('an endpoint knows its methods', () => {
  expect(ENDPOINTS[matchRoute('/v2/models/m/infer')!.endpoint].methods).toEqual(['POST']);
  expect(ENDPOINTS[matchRoute('/v2/models/m')!.endpoint].methods).toEqual(['GET']);
  expect(ENDPOINTS[matchRoute('/v2/logging')!.endpoint].methods).toEqual(['GET', 'POST']);
  expect(ENDPOINTS[matchRoute('/v2/systemsharedmemory/status')!.endpoint].methods).toEqual(['GET']);
  expect(ENDPOINTS[matchRoute('/v2/systemsharedmemory/register')!.endpoint].methods).toEqual(['POST']);
});
