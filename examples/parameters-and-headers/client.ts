// Sends a parameter, a header, both, and a header that is refused, at the same time.
//
//   node build/examples/parameters-and-headers/client.js http://localhost:8000
import { ModelClient, TritonConnectionError } from 'tstriton/client';

import { whenStarted } from '../when-started.js';
import { ratio } from './server.js';

const CALLS = [
  { parameters: { factor: 2 } },
  { headers: { 'x-divisor': '4' } },
  { parameters: { factor: 2 }, headers: { 'x-divisor': '4' } },
  { headers: { 'x-divisor': '0' } },
];

export async function askRatio(url: string): Promise<void> {
  await using client = new ModelClient(url, ratio);
  const outcomes = await Promise.allSettled(CALLS.map((options) => client.inferSample({ x: [1, 10] }, options)));
  outcomes.forEach((outcome, i) => {
    if (outcome.status === 'rejected' && TritonConnectionError.is(outcome.reason)) throw outcome.reason;
    const told = outcome.status === 'fulfilled' ? outcome.value.y.data.join(', ') : String(outcome.reason.message);
    console.log(`${JSON.stringify(CALLS[i])}: ${told}`);
  });
}

await whenStarted(import.meta.url, async () => {
  await askRatio(process.argv[2] ?? 'http://localhost:8000');
});
