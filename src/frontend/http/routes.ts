// Which endpoint a request target means. Paths are compared as they came, as Triton does: case counts, nothing is
// percent-decoded, a trailing slash is another path, the query is ignored.

import type { Category } from '../restricted-features.js';

const GET = ['GET'];
const POST = ['POST'];
const GET_OR_POST = ['GET', 'POST'];

/** The endpoints with their methods, and the categories by which they can be restricted (Triton's restricted_features.h). */
export const ENDPOINTS = {
  'server metadata': { methods: GET, category: 'metadata' },
  live: { methods: GET, category: 'health' },
  ready: { methods: GET, category: 'health' },
  'model metadata': { methods: GET, category: 'metadata' },
  'model ready': { methods: GET, category: 'health' },
  'model config': { methods: GET, category: 'model-config' },
  statistics: { methods: GET, category: 'statistics' },
  infer: { methods: POST, category: 'inference' },
  generate: { methods: POST, category: 'inference' },
  'generate stream': { methods: POST, category: 'inference' },
  trace: { methods: GET_OR_POST, category: 'trace' },
  logging: { methods: GET_OR_POST, category: 'logging' },
  'repository index': { methods: POST, category: 'model-repository' },
  'model load': { methods: POST, category: 'model-repository' },
  'model unload': { methods: POST, category: 'model-repository' },
  'system shared memory status': { methods: GET, category: 'shared-memory' },
  'system shared memory register': { methods: POST, category: 'shared-memory' },
  'system shared memory unregister': { methods: POST, category: 'shared-memory' },
  'cuda shared memory status': { methods: GET, category: 'shared-memory' },
  'cuda shared memory register': { methods: POST, category: 'shared-memory' },
  'cuda shared memory unregister': { methods: POST, category: 'shared-memory' },
} as const satisfies Readonly<Record<string, { readonly methods: readonly string[]; readonly category: Category }>>;

export type Endpoint = keyof typeof ENDPOINTS;
export type SharedMemoryEndpoint = Extract<Endpoint, `${string} shared memory ${string}`>;

export interface Route {
  readonly endpoint: Endpoint;
  readonly methods: readonly string[];
  readonly category: Category;
  /** '' for endpoints that are about no model, and for statistics of all. */
  readonly model: string;
  /** Digits, or '' for the latest. */
  readonly version: string;
  /** Of a model repository, where the path names one. */
  readonly repository?: string | undefined;
  /** Of shared memory, where the path names one. */
  readonly region?: string | undefined;
}

const EXACT: ReadonlyMap<string, Route> = new Map([
  ['/v2', routeTo('server metadata')],
  ['/v2/health/live', routeTo('live')],
  ['/v2/health/ready', routeTo('ready')],
  ['/v2/models/stats', routeTo('statistics')],
  ['/v2/logging', routeTo('logging')],
  ['/v2/trace/setting', routeTo('trace')],
]);

/** By what follows the name and the version of a model. */
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

/** Undefined when there is no such path. */
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
  return { ...routeTo(action === 'load' ? 'model load' : 'model unload', model), repository };
}

function matchSharedMemoryRoute(path: string): Route | undefined {
  const match = SHARED_MEMORY.exec(path);
  if (match === null) return undefined;
  const [, kind, region, action] = match;
  return { ...routeTo(`${kind} shared memory ${action}` as SharedMemoryEndpoint), region };
}

/** The route to an endpoint, whichever path led there. */
export function routeTo(endpoint: Endpoint, model = '', version = ''): Route {
  const { methods, category } = ENDPOINTS[endpoint];
  return { endpoint, methods, category, model, version };
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
