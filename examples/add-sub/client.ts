// Asks AddSub over the protocol that the address names.
//
//   node build/examples/add-sub/client.js grpc://localhost:8001
import { ModelClient } from 'tstriton/client';

import { whenStarted } from '../when-started.js';
import { addSub } from './server.js';

export async function askAddSub(url: string): Promise<void> {
  const client = new ModelClient(url, addSub);
  try {
    const a = Float32Array.of(1, 2, 3);
    const b = Float32Array.of(10, 20, 30);
    const { add, sub } = await client.inferSample({ a, b });
    console.log(`  ${url}  a = [${a.join(', ')}], b = [${b.join(', ')}]`);
    console.log(`    add = [${add.data.join(', ')}], sub = [${sub.data.join(', ')}]`);
  } finally {
    await client.close();
  }
}

await whenStarted(import.meta.url, async () => {
  await askAddSub(process.argv[2] ?? 'grpc://localhost:8001');
});
