// Asks a running server for the languages of the paragraphs of examples/language-id, all at once, and compares the
// answers with those of the same model in TypeScript. Text becomes features here: the ONNX file holds only the arithmetic.
//
//   node build/examples/onnx-language-id/client.js grpc://localhost:8001
import { ModelClient } from 'tstriton/client';

import { readParagraphs } from '../language-id/corpus.js';
import { classify, LANGUAGES } from '../language-id/model.js';
import { vectorise } from '../language-id/ngrams.js';
import { whenStarted } from '../when-started.js';
import { readLanguageModel } from './export.js';
import { MODEL_NAME } from './server.js';

export interface OnnxSummary {
  /** Paragraphs of which the most likely language is the right one. */
  readonly right: number;
  readonly total: number;
  /** Largest difference between a score of the server's and one of TypeScript's. */
  readonly largestDifference: number;
}

export async function askOnnxLanguageId(url: string): Promise<OnnxSummary> {
  const { ngrams } = readLanguageModel();
  const paragraphs = readParagraphs();
  const expected = classify(paragraphs.map(({ text }) => text)).scores;
  const client = new ModelClient(url, MODEL_NAME);
  try {
    const answers = await Promise.all(
      paragraphs.map(async ({ text }) => {
        const features = new Float32Array(ngrams.size);
        const { ids, values } = vectorise(text, ngrams);
        ids.forEach((id, i) => (features[id] = values[i]!));
        const { scores } = await client.inferSample({ features });
        return scores!.data as Float32Array;
      }),
    );
    let largestDifference = 0;
    let right = 0;
    answers.forEach((scores, row) => {
      scores.forEach((score, i) => {
        largestDifference = Math.max(largestDifference, Math.abs(score - expected[row * LANGUAGES.length + i]!));
      });
      if (LANGUAGES[scores.indexOf(Math.max(...scores))] === paragraphs[row]!.language) right++;
    });
    return { right, total: paragraphs.length, largestDifference };
  } finally {
    await client.close();
  }
}

await whenStarted(import.meta.url, async () => {
  const { right, total, largestDifference } = await askOnnxLanguageId(process.argv[2] ?? 'grpc://localhost:8001');
  console.log(
    `${right}/${total} paragraphs right; scores differ from TypeScript's by at most ${largestDifference.toExponential(1)}`,
  );
});
