// Finds the endpoint of the OpenAI API that a request is for.

import type { OpenAiEndpoint } from '../../model/openai.js';
import type { Category } from '../restricted-features.js';

export interface OpenAiRoute {
  readonly endpoint: OpenAiEndpoint | 'models' | 'model';
  readonly method: 'GET' | 'POST';
  readonly category: Category;
  /** Of `model`: the name in the path. */
  readonly model: string;
}

/** The path of each endpoint that runs a model. */
export const OPENAI_PATHS = {
  chat: '/v1/chat/completions',
  completions: '/v1/completions',
  embeddings: '/v1/embeddings',
  transcriptions: '/v1/audio/transcriptions',
} as const satisfies Record<OpenAiEndpoint, string>;

const MODELS = '/v1/models';

const ROUTES: ReadonlyMap<string, OpenAiRoute> = new Map([
  [MODELS, described('models')],
  ...Object.entries(OPENAI_PATHS).map(([endpoint, path]): [string, OpenAiRoute] => [
    path,
    { endpoint: endpoint as OpenAiEndpoint, method: 'POST', category: 'inference', model: '' },
  ]),
]);

/** `path`: without the query. Returns undefined for any other path. */
export function matchOpenAiRoute(path: string): OpenAiRoute | undefined {
  if (!path.startsWith('/v1/')) return undefined;
  const route = ROUTES.get(path);
  if (route !== undefined || !path.startsWith(`${MODELS}/`)) return route;
  const name = decoded(path.slice(MODELS.length + 1));
  // Other names are of other protocols: KServe's first one has /v1/models/NAME:predict.
  return /^[\w.-]+$/.test(name) ? described('model', name) : undefined;
}

function described(endpoint: 'models' | 'model', model = ''): OpenAiRoute {
  return { endpoint, method: 'GET', category: 'metadata', model };
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
