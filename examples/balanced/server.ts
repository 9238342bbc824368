// One of several servers behind the balancer. Each says its number, so that you see which one answered.
//
//   node build/examples/balanced/server.js 1 8010
import { batch, defineModel, Triton, type TritonConfig } from 'tstriton';

import { whenStarted } from '../when-started.js';

export const whoAnswers = defineModel({
  modelName: 'WhoAnswers',
  inputs: { x: { dtype: 'int32', shape: [1] } },
  outputs: { y: { dtype: 'int32', shape: [1] }, server: { dtype: 'int32', shape: [1] } },
  config: { maxBatchSize: 8 },
  strict: true,
});

export function numberedServer(number: number, config: TritonConfig): Triton {
  // A server that stops is not ready for a second before it closes anything, so that the balancer notices.
  const triton = new Triton({ allowGrpc: false, allowMetrics: false, shutdownDelaySecs: 1, ...config });
  triton.bind({
    ...whoAnswers,
    inferFunc: batch(({ x }) => ({ y: x.map((value) => value + 1), server: x.map(() => number) })),
  });
  return triton;
}

await whenStarted(
  import.meta.url,
  async () => {
    const [, , number = '1', port = '8010'] = process.argv;
    await numberedServer(Number(number), { httpPort: Number(port), httpAddress: '127.0.0.1' }).serve();
  },
  '1 8011',
);
