// Asks the three models at the same time, and then how often each ran.
//
//   node build/examples/multiple-models/client.js http://localhost:8000
import { ModelClient } from 'tstriton/client';

import { whenStarted } from '../when-started.js';
import { double, doubleThenSquare, square } from './server.js';

export async function askModels(url: string): Promise<void> {
  const lines = await Promise.all(
    [double, square, doubleThenSquare].map(async (model) => {
      await using client = new ModelClient(url, model);
      const { y } = await client.inferSample({ x: [1, 2, 3] });
      return `${model.modelName}(1, 2, 3) = ${y.data.join(', ')}`;
    }),
  );
  for (const line of lines) console.log(line);
}

await whenStarted(import.meta.url, async () => {
  await askModels(process.argv[2] ?? 'http://localhost:8000');
});
