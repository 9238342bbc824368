// What is bound in the lives of models: each binding has a number of its own, which its answers carry.
import { defineModel, instanceGroup } from 'tstriton';

import { livingCallable, type LivesMemory } from '../../fixtures/model-lives-instance.js';
import type { Declared, Kind, Name } from './deeds.js';

const MODULE = new URL('../../fixtures/model-lives-instance.js', import.meta.url);
const TENSORS = {
  inputs: { x: { dtype: 'int32', shape: [3] } },
  outputs: { y: { dtype: 'int32', shape: [4] } },
} as const;
export const MAX_ROWS = 8;

/** How many instances of a kind have threads of their own, and how many have not. */
export const INSTANCES: Readonly<Record<Kind, { readonly here: number; readonly threads: number }>> = {
  here: { here: 1, threads: 0 },
  thread: { here: 0, threads: 1 },
  threads: { here: 0, threads: 2 },
  both: { here: 1, threads: 1 },
};

export interface Binding extends Declared {
  readonly name: Name;
  readonly binding: number;
  /** When it was given to the server. */
  readonly boundAt: number;
  /** When the server said that it is served no more. */
  goneAt: number;
}

export function boundModel({ name, binding, version, kind }: Binding, memory: LivesMemory): never {
  const declared = { binding, version, streams: name === 'W' };
  const model = defineModel({
    modelName: name,
    ...TENSORS,
    config: name === 'W' ? { batching: false, decoupled: true } : { maxBatchSize: MAX_ROWS },
  });
  const { here, threads } = INSTANCES[kind];
  const own = livingCallable(memory, declared);
  const { buffer, bindings } = memory;
  const group = () =>
    instanceGroup(MODULE, { args: Array.from({ length: threads }, () => ({ buffer, bindings, declared })) });
  return {
    ...model,
    modelVersion: version,
    ...(here > 0 && { setup: own.setup, teardown: own.teardown }),
    inferFunc: [...(here > 0 ? [own.infer] : []), ...(threads > 0 ? [group()] : [])],
  } as never;
}

/** A module of a folder, whose answers carry a number as those of a binding do. */
export function folderModule(binding: number): string {
  return `export default {
  inputs: { x: { dtype: 'int32', shape: [3] } },
  outputs: { y: { dtype: 'int32', shape: [4] } },
  config: { maxBatchSize: ${MAX_ROWS} },
  inferFunc: (requests) => requests.map(({ inputs: { x } }) => ({
    y: Array.from({ length: x.data.length / 3 }, (_, row) => [x.data[3 * row], x.data[3 * row + 1], 1, ${binding}]),
  })),
};
`;
}
