// Keeps a module that `tstriton serve` imports from starting a server of its own: the command would wait for it for ever, and its
// flags would count for nothing. The module may have another copy of this package, so that the state is the process's.

import { invalidArg, type TritonError } from '../errors.js';

interface Importing {
  readonly file: string;
  refused?: TritonError;
}

const STATE = Symbol.for('tstriton.importing');
const state = globalThis as { [STATE]?: Importing | undefined };

/** What `load` gives. Rejects with INVALID_ARG where the file that it imports starts a server. */
export async function importingModels<T>(file: string, load: () => Promise<T>): Promise<T> {
  const importing: Importing = { file };
  state[STATE] = importing;
  try {
    const loaded = await load();
    if (importing.refused !== undefined) throw importing.refused;
    return loaded;
  } finally {
    if (state[STATE] === importing) state[STATE] = undefined;
  }
}

/** The error for a server that an imported file starts; undefined where none is imported. */
export function refusedStart(): TritonError | undefined {
  const importing = state[STATE];
  if (importing === undefined) return undefined;
  const { file } = importing;
  importing.refused = invalidArg(
    `${file} starts a server itself: run it with node or tsx, or export what it gives to triton.bind for tstriton serve`,
  );
  return importing.refused;
}
