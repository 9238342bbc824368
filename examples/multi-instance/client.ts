// Asks sixteen questions at the same time, and tells how many threads answered.
//
//   node build/examples/multi-instance/client.js grpc://localhost:8001
import { ModelClient } from 'tstriton/client';

import { whenStarted } from '../when-started.js';
import { primes } from './primes-model.js';

export async function askPrimes(url: string): Promise<void> {
  await using client = new ModelClient(url, primes);
  const limits = Array.from({ length: 16 }, (_, index) => 100_000 + 1_000 * index);
  const answers = await Promise.all(limits.map((below) => client.inferSample({ below: [below] })));
  for (const index of [0, 15]) console.log(`${answers[index]!.count.data[0]} primes below ${limits[index]}`);
  const threads = new Set(answers.map(({ thread }) => thread.data[0]));
  console.log(`${answers.length} answers from ${threads.size} threads`);
}

await whenStarted(import.meta.url, async () => {
  await askPrimes(process.argv[2] ?? 'grpc://localhost:8001');
});
