// The models of a server, each with its versions.

import type { PageVersionJson } from '../src/frontend/page/page-json.js';

/** A model with its versions, the highest first. */
export interface Model {
  readonly name: string;
  readonly versions: readonly PageVersionJson[];
}

export function modelsOf(versions: readonly PageVersionJson[]): Model[] {
  const byName = new Map<string, PageVersionJson[]>();
  for (const version of versions) byName.set(version.name, [...(byName.get(version.name) ?? []), version]);
  return Array.from(byName, ([name, own]) => ({
    name,
    versions: own.sort((a, b) => Number(b.version) - Number(a.version)),
  }));
}

/** The state that counts: ready when any version is. */
export function stateOf({ versions }: Model): PageVersionJson['state'] {
  return versions.find(({ state }) => state === 'READY')?.state ?? versions[0]!.state;
}
