// Sends eight pictures at the same time, 600 kB each, and prints the best class of each.
//
//   node build/examples/mlp/client.js grpc://localhost:8001
import { ModelClient } from 'tstriton/client';

import { whenStarted } from '../when-started.js';
import { mlp, SIDE } from './server.js';

/** A disc of light whose place depends on the number. */
function picture(number: number): Float32Array {
  const [x0, y0] = [(SIDE * (1 + (number % 4))) / 5, (SIDE * (1 + Math.floor(number / 4))) / 3];
  return Float32Array.from({ length: SIDE * SIDE * 3 }, (_, i) => {
    const pixel = Math.floor(i / 3);
    return Math.hypot((pixel % SIDE) - x0, Math.floor(pixel / SIDE) - y0) < SIDE / 5 ? 4 : 0;
  });
}

export async function askMlp(url: string): Promise<void> {
  await using client = new ModelClient(url, mlp);
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, number) => client.inferSample({ picture: picture(number) })),
  );
  for (const [number, { scores }] of answers.entries()) {
    const best = scores.data.indexOf(Math.max(...scores.data));
    const sum = scores.data.reduce((a, b) => a + b);
    console.log(`picture ${number}: class ${best} with ${scores.data[best]!.toFixed(2)}, all scores ${sum.toFixed(2)}`);
  }
}

await whenStarted(import.meta.url, async () => {
  await askMlp(process.argv[2] ?? 'grpc://localhost:8001');
});
