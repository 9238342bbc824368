// The JSON of the model repository extension: the index, and the parameters of a load.

import { TritonError } from '../../errors.js';
import type { RepositoryModel } from '../../model/repository-model.js';
import type { JsonValue } from '../json/json-value.js';
import { asBoolean, asString, membersOf, parseBody } from './json-access.js';
import { member } from './json-members.js';

/** Whether only ready models are asked for; an empty body asks for all. Throws INVALID_ARG. */
export function decodeRepositoryIndex(body: Buffer): boolean {
  if (body.length === 0) return false;
  const ready = member(parseBody(body), 'ready');
  return ready !== undefined && asBoolean(ready);
}

/** Names of the parameters of a load; an empty body has none. Throws INVALID_ARG. */
export function decodeLoadParameters(body: Buffer): readonly string[] {
  if (body.length === 0) return [];
  const parameters: JsonValue | undefined = member(parseBody(body), 'parameters');
  if (parameters === undefined) return [];
  const names = membersOf(parameters).map(([name, value]) => {
    asString(value);
    return name;
  });
  const unknown = names.find((name) => name !== 'config' && !name.startsWith('file:'));
  if (unknown === undefined) return names;
  throw new TritonError('INVALID_ARG', `unrecognized load parameter '${unknown}'.`);
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
