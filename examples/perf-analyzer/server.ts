// A text model to be measured: how many words and letters a text has.
//
//   node build/examples/perf-analyzer/server.js
import { batch, defineModel, Tensor, Triton } from 'tstriton';

import { whenStarted } from '../when-started.js';

export const count = defineModel({
  modelName: 'Count',
  inputs: { text: { dtype: 'string', shape: [1] } },
  outputs: { words: { dtype: 'int32', shape: [1] }, letters: { dtype: 'int32', shape: [1] } },
  config: { maxBatchSize: 16 },
  strict: true,
});

export function bindCount(triton: Triton): void {
  triton.bind({
    ...count,
    inferFunc: batch(({ text }) => {
      const rows = [text.rowCount, 1];
      const counted = (pattern: RegExp) => Int32Array.from(text.data, (one) => one.match(pattern)?.length ?? 0);
      return {
        words: new Tensor('int32', counted(/\S+/g), rows),
        letters: new Tensor('int32', counted(/\p{L}/gu), rows),
      };
    }),
  });
}

await whenStarted(import.meta.url, async () => {
  const triton = new Triton();
  bindCount(triton);
  await triton.serve();
});
