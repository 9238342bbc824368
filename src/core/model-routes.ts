// The models' own routes: which version answers the requests to each path.

import type { ModelEntry } from './model-entry.js';

export interface ModelVersion {
  readonly model: string;
  readonly version: string;
}

/**
 * The highest served version with a route answers it. Without a served one the last entry stands for it: a request is then told why
 * the model does not answer. `entries` come by name, then version.
 */
export function routesOf(entries: readonly ModelEntry[]): ReadonlyMap<string, ModelVersion> {
  const chosen = new Map<string, ModelEntry>();
  for (const entry of entries) {
    const { route } = entry.model.config;
    if (route === undefined) continue;
    if (entry.isReady || chosen.get(route)?.isReady !== true) chosen.set(route, entry);
  }
  return new Map(
    Array.from(chosen, ([route, { model }]) => {
      const { name, version } = model.config;
      return [route, { model: name, version: String(version) }];
    }),
  );
}
