// The answer to GET /v2/models, which Triton lacks. `models` is KServe's answer; `versions` is ours beside it.

import type { RepositoryModel, RepositoryState } from '../model/repository-model.js';

export interface ModelListJson {
  readonly models: readonly string[];
  /** Absent from servers of others. */
  readonly versions?: readonly ListedVersion[];
}

interface ListedVersion {
  readonly name: string;
  readonly version: string;
  readonly state: RepositoryState;
}

/**
 * The versions that were loaded at any time. Unlike the index of the model repository it has no reasons and no models that could be
 * loaded, because anybody may read it.
 */
export function modelListJson(index: readonly RepositoryModel[]): ModelListJson {
  const versions = index.flatMap(({ name, version, state }) => (state === '' ? [] : [{ name, version, state }]));
  return { models: [...new Set(versions.map(({ name }) => name))], versions };
}
