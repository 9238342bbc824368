// A model that computes, in several threads: each is an instance with a core of its own.
//
//   node build/examples/multi-instance/server.js 2
import { instanceGroup, Triton } from 'tstriton';

import { whenStarted } from '../when-started.js';
import { primes } from './primes-model.js';

export function bindPrimes(triton: Triton, count = 2): void {
  triton.bind({ ...primes, inferFunc: instanceGroup(new URL('./primes-model.js', import.meta.url), { count }) });
}

await whenStarted(import.meta.url, async () => {
  const triton = new Triton();
  bindPrimes(triton, Number(process.argv[2] ?? 2));
  await triton.serve();
});
