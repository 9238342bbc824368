// Draws digits that the network has not seen, asks about each in a request of its own, and counts the right answers.
//
//   node build/examples/image-classification/client.js http://localhost:8000
import { ModelClient } from 'tstriton/client';

import { randomFrom } from '../language-id/corpus.js';
import { whenStarted } from '../when-started.js';
import { asText, CLASSES, drawDigit } from './digits.js';
import { digits } from './server.js';

const PICTURES = 1000;

export async function askDigits(url: string): Promise<void> {
  const random = randomFrom(2026);
  const pictures = Array.from({ length: PICTURES }, (_, i) => drawDigit(i % CLASSES, random));
  await using client = new ModelClient(url, digits);
  const answers = await Promise.all(pictures.map((picture) => client.inferSample({ picture })));
  const best = answers.map(({ scores }) => scores.data.indexOf(Math.max(...scores.data)));
  const right = best.filter((digit, i) => digit === i % CLASSES).length;

  console.log(asText(pictures[3]!));
  console.log(`is a ${best[3]}, by ${(100 * answers[3]!.scores.data[best[3]!]!).toFixed(0)} %.`);
  console.log(`${right} of ${PICTURES} pictures are right.`);
}

await whenStarted(import.meta.url, async () => {
  await askDigits(process.argv[2] ?? 'http://localhost:8000');
});
