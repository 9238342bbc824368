// Gives back what it gets: numbers and bytes, the same to the last bit.
//
//   node build/examples/identity/server.js
import { defineModel, Triton } from 'tstriton';

import { whenStarted } from '../when-started.js';

export const identity = defineModel({
  modelName: 'Identity',
  inputs: { numbers: { dtype: 'float64', shape: [-1] }, bytes: { dtype: 'bytes', shape: [-1] } },
  outputs: { numbers: { dtype: 'float64', shape: [-1] }, bytes: { dtype: 'bytes', shape: [-1] } },
  config: { maxBatchSize: 16 },
  strict: true,
});

export function bindIdentity(triton: Triton): void {
  // A request stands for its inputs, which are its outputs here.
  triton.bind({ ...identity, inferFunc: (requests) => requests });
}

await whenStarted(import.meta.url, async () => {
  const triton = new Triton();
  bindIdentity(triton);
  await triton.serve();
});
