// A model under decorators of one's own: see decorators.ts.
//
//   node build/examples/own-decorator/server.js
import { batch, defineModel, Triton } from 'tstriton';

import { whenStarted } from '../when-started.js';
import { logged, requireParameter, standardized } from './decorators.js';

export const risk = defineModel({
  modelName: 'Risk',
  inputs: { features: { dtype: 'float32', shape: [3] } },
  outputs: { score: { dtype: 'float32', shape: [1] } },
  config: { maxBatchSize: 16 },
  strict: true,
});

const WEIGHTS = [0.5, -1, 2];

export function bindRisk(triton: Triton): void {
  triton.bind({
    ...risk,
    inferFunc: requireParameter(
      'tenant',
      batch(
        logged(
          standardized('features', { mean: 10, deviation: 2 }, ({ features }) => ({
            score: features.rows().map((row) => [row.data.reduce((sum, value, i) => sum + value * WEIGHTS[i]!, 0)]),
          })),
        ),
      ),
    ),
  });
}

await whenStarted(import.meta.url, async () => {
  const triton = new Triton();
  bindRisk(triton);
  await triton.serve();
});
