// The categories by which endpoints can be restricted (server/src/restricted_features.h).

import type { Category } from '../restricted-features.js';
import type { Endpoint } from './routes.js';

export const CATEGORY_OF = {
  'server metadata': 'metadata',
  live: 'health',
  ready: 'health',
  'model metadata': 'metadata',
  'model ready': 'health',
  'model config': 'model-config',
  statistics: 'statistics',
  infer: 'inference',
  generate: 'inference',
  'generate stream': 'inference',
  trace: 'trace',
  logging: 'logging',
  'repository index': 'model-repository',
  'model load': 'model-repository',
  'model unload': 'model-repository',
  'system shared memory status': 'shared-memory',
  'system shared memory register': 'shared-memory',
  'system shared memory unregister': 'shared-memory',
  'cuda shared memory status': 'shared-memory',
  'cuda shared memory register': 'shared-memory',
  'cuda shared memory unregister': 'shared-memory',
} as const satisfies Record<Endpoint, Category>;
