// Sends a batch of three samples to Linear.
//
//   node build/examples/linear/client.js http://localhost:8000
import { pathToFileURL } from 'node:url';

import { ModelClient } from 'tstriton/client';

import { IN_FEATURES, linear } from './serve.js';

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

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await askLinear(process.argv[2] ?? 'http://localhost:8000');
}
