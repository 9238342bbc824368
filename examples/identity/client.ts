// Sends numbers that are hard to print and bytes that are no text, and compares what comes back.
//
//   node build/examples/identity/client.js grpc://localhost:8001
import { isDeepStrictEqual } from 'node:util';

import { ModelClient } from 'tstriton/client';

import { whenStarted } from '../when-started.js';
import { identity } from './server.js';

const NUMBERS = Float64Array.of(0.1, -0, 5e-324, Number.MAX_VALUE, Infinity, NaN);
const BYTES = [Uint8Array.of(0xff, 0, 0, 0), new Uint8Array(0), new TextEncoder().encode('Grüezi')];

export async function askIdentity(url: string): Promise<void> {
  await using client = new ModelClient(url, identity);
  const { numbers, bytes } = await client.inferSample({ numbers: NUMBERS, bytes: BYTES });
  const hex = (list: Iterable<Uint8Array>) => Array.from(list, (one) => Buffer.from(one).toString('hex') || '(empty)');
  console.log(`numbers: ${Array.from(numbers.data, (x) => (Object.is(x, -0) ? '-0' : x)).join(', ')}`);
  console.log(`bytes: ${hex(bytes.data).join(', ')}`);
  const isSame = isDeepStrictEqual(numbers.data, NUMBERS) && isDeepStrictEqual(hex(bytes.data), hex(BYTES));
  console.log(isSame ? 'the same as was sent' : 'NOT what was sent');
}

await whenStarted(import.meta.url, async () => {
  await askIdentity(process.argv[2] ?? 'grpc://localhost:8001');
});
