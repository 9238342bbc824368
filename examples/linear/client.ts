// Sends a batch of three samples to Linear.
//
//   node build/examples/linear/client.js http://localhost:8000
import { ModelClient } from 'tstriton/client';

import { whenStarted } from '../when-started.js';
import { IN_FEATURES, linear } from './server.js';

export async function askLinear(url: string): Promise<void> {
  const client = new ModelClient(url, linear);
  try {
    const rows = 3;
    const data = Float32Array.from({ length: rows * IN_FEATURES }, (_, i) => Math.floor(i / IN_FEATURES) + 1);
    const { result } = await client.inferBatch({ data });
    result.rows().forEach((row, i) => {
      const shown = Array.from(row.data.subarray(0, 5), (value) => value.toFixed(4));
      console.log(`  all ${i + 1}:  ${shown.join(' ')} … ${row.data.length} values`);
    });
  } finally {
    await client.close();
  }
}

await whenStarted(import.meta.url, async () => {
  await askLinear(process.argv[2] ?? 'http://localhost:8000');
});
