// Which endpoint a request target means. Paths are compared as they came, as Triton does: case counts, nothing is
// percent-decoded, a trailing slash is another path, the query is ignored.

export type Endpoint =
  | 'server metadata'
  | 'live'
  | 'ready'
  | 'model metadata'
  | 'model ready'
  | 'model config'
  | 'statistics'
  | 'infer'
  | 'generate'
  | 'generate stream'
  | 'trace'
  | 'logging'
  | 'repository index'
  | 'model load'
  | 'model unload'
  | SharedMemoryEndpoint;

export type SharedMemoryEndpoint = `${'system' | 'cuda'} shared memory ${'status' | 'register' | 'unregister'}`;

export interface Route {
  readonly endpoint: Endpoint;
  readonly methods: readonly string[];
  /** '' for endpoints that are about no model, and for statistics of all. */
  readonly model: string;
  /** Digits, or '' for the latest. */
  readonly version: string;
  /** Of a model repository, where the path names one. */
  readonly repository?: string | undefined;
  /** Of shared memory, where the path names one. */
  readonly region?: string | undefined;
}

const GET = ['GET'];
const POST = ['POST'];
const GET_OR_POST = ['GET', 'POST'];

const EXACT: ReadonlyMap<string, Route> = new Map([
  ['/v2', serverRoute('server metadata', GET)],
  ['/v2/health/live', serverRoute('live', GET)],
  ['/v2/health/ready', serverRoute('ready', GET)],
  ['/v2/models/stats', serverRoute('statistics', GET)],
  ['/v2/logging', serverRoute('logging', GET_OR_POST)],
  ['/v2/trace/setting', serverRoute('trace', GET_OR_POST)],
]);

const MODEL_ACTIONS: ReadonlyMap<string, { readonly endpoint: Endpoint; readonly methods: readonly string[] }> =
  new Map([
    ['', { endpoint: 'model metadata', methods: GET }],
    ['infer', { endpoint: 'infer', methods: POST }],
    ['generate', { endpoint: 'generate', methods: POST }],
    ['generate_stream', { endpoint: 'generate stream', methods: POST }],
    ['ready', { endpoint: 'model ready', methods: GET }],
    ['config', { endpoint: 'model config', methods: GET }],
    ['stats', { endpoint: 'statistics', methods: GET }],
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
  if (model === undefined) return { ...serverRoute('repository index', POST), repository };
  return { ...serverRoute(action === 'load' ? 'model load' : 'model unload', POST), model, repository };
}

function matchSharedMemoryRoute(path: string): Route | undefined {
  const match = SHARED_MEMORY.exec(path);
  if (match === null) return undefined;
  const [, kind, region, action] = match;
  const endpoint = `${kind} shared memory ${action}` as SharedMemoryEndpoint;
  return { ...serverRoute(endpoint, action === 'status' ? GET : POST), region };
}

function serverRoute(endpoint: Endpoint, methods: readonly string[]): Route {
  return { endpoint, methods, model: '', version: '' };
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
  if (nameEnd < 0) return { endpoint: 'model metadata', methods: GET, model, version: '' };
  let version = '';
  let action = path.slice(nameEnd + 1);
  if (action.startsWith(VERSIONS)) {
    const versionEnd = action.indexOf('/', VERSIONS.length);
    version = versionEnd < 0 ? action.slice(VERSIONS.length) : action.slice(VERSIONS.length, versionEnd);
    if (!/^[0-9]+$/.test(version)) return undefined;
    if (versionEnd < 0) return { endpoint: 'model metadata', methods: GET, model, version };
    action = action.slice(versionEnd + 1);
  }
  if (action === '') return undefined;
  if (action === 'trace/setting')
    return version === '' ? { endpoint: 'trace', methods: GET_OR_POST, model, version } : undefined;
  const found = MODEL_ACTIONS.get(action);
  return found === undefined ? undefined : { endpoint: found.endpoint, methods: found.methods, model, version };
}
