// Tells which digit a picture shows. The network is trained at the start, on pictures that the example draws.
//
//   node build/examples/image-classification/server.js
import { batch, defineModel, Tensor, Triton } from 'tstriton';

import { randomFrom } from '../language-id/corpus.js';
import { whenStarted } from '../when-started.js';
import { CLASSES, drawDigit, SIZE } from './digits.js';
import { Network } from './network.js';

const EXAMPLES = 12_000;

export const digits = defineModel({
  modelName: 'Digits',
  inputs: { picture: { dtype: 'uint8', shape: [SIZE, SIZE] } },
  outputs: {
    // With labels, clients may ask for the best classes in words: the protocol's extension "classification".
    scores: {
      dtype: 'float32',
      shape: [CLASSES],
      labels: ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'],
    },
  },
  config: { maxBatchSize: 128 },
  strict: true,
});

export function trainedNetwork(): Network {
  const random = randomFrom(1);
  const network = new Network(random);
  for (let i = 0; i < EXAMPLES; i++)
    network.train(drawDigit(i % CLASSES, random), i % CLASSES, 0.1 * (1 - i / EXAMPLES));
  return network;
}

export function bindDigits(triton: Triton, network: Network): void {
  triton.bind({
    ...digits,
    inferFunc: batch(({ picture }) => {
      const scores = new Float32Array(picture.rowCount * CLASSES);
      picture
        .rows()
        .forEach(({ data }, row) => network.classify(data, scores.subarray(row * CLASSES, (row + 1) * CLASSES)));
      return { scores: new Tensor('float32', scores, [picture.rowCount, CLASSES]) };
    }),
  });
}

await whenStarted(import.meta.url, async () => {
  const triton = new Triton();
  bindDigits(triton, trainedNetwork());
  await triton.serve();
});
