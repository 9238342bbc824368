// Asks ScaledSum with and without its optional inputs, all at the same time.
//
//   node build/examples/optional-inputs/client.js http://localhost:8000
import { ModelClient } from 'tstriton/client';

import { whenStarted } from '../when-started.js';
import { scaledSum } from './server.js';

const CALLS = [{}, { scale: [2] }, { offset: [1] }, { scale: [2], offset: [1] }];

export async function askScaledSum(url: string): Promise<void> {
  await using client = new ModelClient(url, scaledSum);
  const answers = await Promise.all(CALLS.map((more) => client.inferSample({ a: [1, 2], b: [10, 20], ...more })));
  answers.forEach(({ sum }, i) => console.log(`${JSON.stringify(CALLS[i])}: sum = [${sum.data.join(', ')}]`));
}

await whenStarted(import.meta.url, async () => {
  await askScaledSum(process.argv[2] ?? 'http://localhost:8000');
});
