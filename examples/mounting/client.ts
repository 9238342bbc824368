// Asks the application for its own page, and for the model at the same address.
//
//   node build/examples/mounting/client.js http://localhost:3000
import { ModelClient } from 'tstriton/client';

import { whenStarted } from '../when-started.js';
import { double } from './models.js';

export async function askApplication(url: string): Promise<void> {
  console.log(`GET /: ${await (await fetch(url)).text()}`);
  await using client = new ModelClient(url, double);
  const { y } = await client.inferSample({ x: [1, 2] });
  console.log(`Double: [${y.data.join(', ')}]`);
}

await whenStarted(import.meta.url, async () => {
  await askApplication(process.argv[2] ?? 'http://localhost:3000');
});
