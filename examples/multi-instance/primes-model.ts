// The module that each thread runs: it counts primes, and says in which thread.
import { threadId } from 'node:worker_threads';

import { batch, type CallableOf, defineModel } from 'tstriton';

export const primes = defineModel({
  modelName: 'Primes',
  inputs: { below: { dtype: 'int32', shape: [1] } },
  outputs: { count: { dtype: 'int32', shape: [1] }, thread: { dtype: 'int32', shape: [1] } },
  config: { maxBatchSize: 1 },
  strict: true,
});

function countPrimes(below: number): number {
  let count = 0;
  for (let candidate = 2; candidate < below; candidate++) {
    let divisor = 2;
    while (divisor * divisor <= candidate && candidate % divisor !== 0) divisor++;
    if (divisor * divisor > candidate) count++;
  }
  return count;
}

export default batch(({ below }) => ({
  count: below.map(countPrimes),
  thread: below.map(() => threadId),
})) satisfies CallableOf<typeof primes>;
