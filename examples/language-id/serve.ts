// Serves the language model: requests that arrive within two milliseconds of each other are answered in one batch.
//
//   node build/examples/language-id/serve.js
import { pathToFileURL } from 'node:url';

import { batch, defineModel, Tensor, Triton } from 'tstriton';

import { classify, LANGUAGES } from './model.js';

export const languageId = defineModel({
  modelName: 'LanguageId',
  inputs: { text: { dtype: 'string', shape: [1] } },
  outputs: {
    label: { dtype: 'string', shape: [1] },
    scores: { dtype: 'float32', shape: [LANGUAGES.length] },
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

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const triton = new Triton();
  bindLanguageId(triton);
  await triton.serve();
}
