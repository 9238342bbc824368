// Teaches the model a plane that the client alone knows, and asks it between the lessons.
//
//   node build/examples/online-learning/client.js grpc://localhost:8001
import { ModelClient } from 'tstriton/client';

import { randomFrom } from '../language-id/corpus.js';
import { whenStarted } from '../when-started.js';
import { FEATURES, predict, train } from './server.js';

const secret = ([a, b, c]: readonly number[]) => 2 * a! - b! + 0.5 * c! + 3;

export async function teach(url: string): Promise<void> {
  await using teacher = new ModelClient(url, train);
  await using pupil = new ModelClient(url, predict);
  const random = randomFrom(1);
  const example = () => Array.from({ length: FEATURES }, () => 2 * random() - 1);
  const question = [0.5, -0.5, 1];
  let examples = 0;
  for (const lesson of [0, 8, 16, 32, 64]) {
    const features = Array.from({ length: lesson }, example);
    const target = features.map((x) => [secret(x)]);
    // The rows of one request are learned in their order.
    if (lesson > 0) await teacher.inferBatch({ features, target });
    examples += lesson;
    const { value } = await pupil.inferSample({ features: question });
    console.log(`after ${examples} examples: ${value.data[0]!.toFixed(3)}`);
  }
  console.log(`the truth: ${secret(question).toFixed(3)}`);
}

await whenStarted(import.meta.url, async () => {
  await teach(process.argv[2] ?? 'grpc://localhost:8001');
});
