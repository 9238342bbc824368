// The JSON of the model repository extension: the index, and the parameters of a load.

import type { RepositoryModel } from '../../model/repository-model.js';
import { checkLoadParameter } from '../control-refusals.js';
import type { JsonValue } from '../json/json-value.js';
import { asBoolean, asString, membersOf, parseBody } from './json-access.js';
import { member } from './json-members.js';

/** Whether only ready models are asked for; an empty body asks for all. Throws INVALID_ARG. */
export function decodeRepositoryIndex(body: Buffer): boolean {
  if (body.length === 0) return false;
  const ready = member(parseBody(body), 'ready');
  return ready !== undefined && asBoolean(ready);
}

/** The parameters of a load. */
export interface LoadParametersJson {
  readonly config: string | undefined;
  /** Names of those that bring files. */
  readonly files: readonly string[];
}

/** An empty body has none. Throws INVALID_ARG. */
export function decodeLoadParameters(body: Buffer): LoadParametersJson {
  if (body.length === 0) return { config: undefined, files: [] };
  const parameters: JsonValue | undefined = member(parseBody(body), 'parameters');
  const members = parameters === undefined ? [] : membersOf(parameters);
  const texts = members.map(([name, value]) => [name, asString(value)] as const);
  for (const [name] of texts) checkLoadParameter(name);
  return {
    config: texts.find(([name]) => name === 'config')?.[1],
    files: texts.flatMap(([name]) => (name === 'config' ? [] : [name])),
  };
}

/** What JSON.stringify takes. */
export function repositoryIndexJson(models: readonly RepositoryModel[]): readonly unknown[] {
  return models.map(({ name, version, state, reason }) => ({
    name,
    ...(version === '' ? {} : { version }),
    ...(state === '' ? {} : { state }),
    ...(reason === '' ? {} : { reason }),
  }));
}
