// Finds the endpoint for a request target. Paths are compared as they came, as Triton does: case counts, nothing is
// percent-decoded, a trailing slash is another path, the query is ignored. Only a name that is nothing but white space is decoded,
// because clients cannot send it in another way.

import type { Endpoint, Route } from './endpoints.js';

const EXACT: ReadonlyMap<string, Route> = new Map([
  ['/v2', routeTo('server metadata')],
  ['/openapi.json', routeTo('openapi')],
  ['/v2/health/live', routeTo('live')],
  ['/v2/health/ready', routeTo('ready')],
  ['/v2/models', routeTo('model list')],
  ['/v2/models/stats', routeTo('statistics')],
  ['/v2/logging', routeTo('logging')],
  ['/v2/trace/setting', routeTo('trace')],
]);

/** Endpoints by the end of the path, behind the name and the version of a model. */
const MODEL_ACTIONS: ReadonlyMap<string, Endpoint> = new Map([
  ['infer', 'infer'],
  ['generate', 'generate'],
  ['generate_stream', 'generate stream'],
  ['ready', 'model ready'],
  ['config', 'model config'],
  ['stats', 'statistics'],
]);

const MODELS = '/v2/models/';
const VERSIONS = 'versions/';
const REPOSITORY = /^\/v2\/repository(?:\/([^/]+))?\/(?:index|models\/([^/]+)\/(load|unload))$/;
const SHARED_MEMORY = /^\/v2\/(system|cuda)sharedmemory(?:\/region\/([^/]+))?\/(status|register|unregister)$/;

/** White space, percent-encoded. */
const BLANK = /^(?:%20|%09|%0[a-d])+$/i;

/** Returns undefined for an unknown path. */
export function matchRoute(target: string): Route | undefined {
  const path = pathOf(target);
  if (path.startsWith(MODELS)) return EXACT.get(path) ?? matchModelRoute(path);
  const exact = EXACT.get(path);
  if (exact !== undefined) return exact;
  return matchRepositoryRoute(path) ?? matchSharedMemoryRoute(path);
}

function matchRepositoryRoute(path: string): Route | undefined {
  const match = REPOSITORY.exec(path);
  if (match === null) return undefined;
  const [, repository, model, action] = match;
  if (model === undefined) return { ...routeTo('repository index'), repository };
  const name = BLANK.test(model) ? decodeURIComponent(model) : model;
  return { ...routeTo(action === 'load' ? 'model load' : 'model unload', name), repository };
}

function matchSharedMemoryRoute(path: string): Route | undefined {
  const match = SHARED_MEMORY.exec(path);
  if (match === null) return undefined;
  const [, kind, region, action] = match;
  return { ...routeTo(`${kind as 'system'} shared memory ${action as 'status'}`), region };
}

/** The route to an endpoint, by whichever path. */
export function routeTo(endpoint: Endpoint, model = '', version = ''): Route {
  return { endpoint, model, version };
}

/** The path of a request target, which may be a whole URL (RFC 9112, section 3.2.2), without its query. */
export function pathOf(target: string): string {
  let start = 0;
  if (target.charCodeAt(0) !== 0x2f) {
    const authority = /^https?:\/\/[^/?#]*/i.exec(target);
    if (authority !== null) start = authority[0].length;
  }
  const query = target.indexOf('?', start);
  return query < 0 ? (start === 0 ? target : target.slice(start)) : target.slice(start, query);
}

function matchModelRoute(path: string): Route | undefined {
  const nameEnd = path.indexOf('/', MODELS.length);
  const model = nameEnd < 0 ? path.slice(MODELS.length) : path.slice(MODELS.length, nameEnd);
  if (model === '') return undefined;
  if (nameEnd < 0) return routeTo('model metadata', model);
  let version = '';
  let action = path.slice(nameEnd + 1);
  if (action.startsWith(VERSIONS)) {
    const versionEnd = action.indexOf('/', VERSIONS.length);
    version = versionEnd < 0 ? action.slice(VERSIONS.length) : action.slice(VERSIONS.length, versionEnd);
    if (!/^[0-9]+$/.test(version)) return undefined;
    if (versionEnd < 0) return routeTo('model metadata', model, version);
    action = action.slice(versionEnd + 1);
  }
  if (action === 'trace/setting') return version === '' ? routeTo('trace', model) : undefined;
  const endpoint = MODEL_ACTIONS.get(action);
  return endpoint === undefined ? undefined : routeTo(endpoint, model, version);
}
