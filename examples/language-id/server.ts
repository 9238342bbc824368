// Serves the language model: requests that arrive within two milliseconds of each other are answered in one batch.
//
//   node build/examples/language-id/server.js
import { batch, defineModel, Tensor, Triton } from 'tstriton';

import { whenStarted } from '../when-started.js';
import { classify, LANGUAGES } from './model.js';

export const languageId = defineModel({
  modelName: 'LanguageId',
  description: 'Tells the language of a text',
  inputs: { text: { dtype: 'string', shape: [1] } },
  outputs: {
    label: { dtype: 'string', shape: [1] },
    scores: { dtype: 'float32', shape: [LANGUAGES.length], labels: LANGUAGES },
  },
  config: { maxBatchSize: 32, batcher: { maxQueueDelayMicroseconds: 2000 } },
  strict: true,
});

export function bindLanguageId(triton: Triton): void {
  triton.bind({
    ...languageId,
    inferFunc: batch(({ text }) => {
      const { labels, scores } = classify(text.data);
      return {
        label: new Tensor('string', labels, [labels.length, 1]),
        scores: new Tensor('float32', scores, [labels.length, LANGUAGES.length]),
      };
    }),
  });
}

await whenStarted(import.meta.url, async () => {
  const triton = new Triton();
  bindLanguageId(triton);
  await triton.serve();
});
