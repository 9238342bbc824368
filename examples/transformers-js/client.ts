// Asks which label fits a sentence best.
//
//   node build/examples/transformers-js/client.js grpc://localhost:8001
import { ModelClient } from 'tstriton/client';

import { whenStarted } from '../when-started.js';
import { zeroShot } from './server.js';

export async function askZeroShot(url: string): Promise<void> {
  await using client = new ModelClient(url, zeroShot);
  const text = 'The keeper saved two penalties in the last minute.';
  const { labels, scores } = await client.inferSample({ text: [text], labels: ['politics', 'sport', 'cooking'] });
  console.log(text);
  for (const [index, label] of labels.data.entries()) console.log(`  ${label}: ${scores.data[index]!.toFixed(2)}`);
}

await whenStarted(import.meta.url, async () => {
  await askZeroShot(process.argv[2] ?? 'grpc://localhost:8001');
});
