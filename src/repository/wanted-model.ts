// What a model's folder wants served, as it lies there now: its configuration, its versions, and a state of each that tells whether it
// has changed.

import { invalidArg } from '../errors.js';
import { type ModelFolder, readModelFolder, stateOf } from './model-folder.js';
import { chosenVersions, readGivenConfig, readWrittenConfig, type WrittenConfig } from './written-config.js';

/** A model to serve. */
export interface WantedModel {
  readonly folder: ModelFolder;
  readonly written: WrittenConfig;
  /** The versions to serve, and the state of each. */
  readonly states: ReadonlyMap<number, string>;
}

/** `repositories` hold the model. `config` is a client's configuration in place of its own. Throws INVALID_ARG. */
export async function readWantedModel(
  name: string,
  repositories: readonly string[],
  config: string | undefined,
): Promise<WantedModel> {
  if (repositories.length > 1)
    throw invalidArg(`model appears in two or more repositories: ${repositories.join(', ')}`);
  const folder = await readModelFolder(repositories[0]!, name);
  const written =
    config === undefined
      ? readWrittenConfig(folder.config, { name, path: `${folder.path}/config.pbtxt` })
      : readGivenConfig(config, name);
  const { model, versions } = await stateOf(folder);
  const chosen = chosenVersions(written, folder.versions);
  // The text that was read: the file may have changed since.
  const text = config ?? folder.config ?? '';
  const states = new Map(
    chosen.map((version) => [version, [folder.path, text, model, versions.get(version)].join('\n')] as const),
  );
  return { folder, written, states };
}

/** Whether nothing of a state was changed or removed. A model may add files to its folder as it loads. */
export function isKept(state: string, now: string | undefined): boolean {
  const lines = new Set(now?.split('\n'));
  return state.split('\n').every((line) => lines.has(line));
}
