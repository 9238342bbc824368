// Asks all questions at the same time, and counts for how many one of the five paragraphs is on a right page. With a question of your
// own it prints what was found.
//
//   node build/examples/semantic-search/client.js http://localhost:8000 "How do I stop the server?"
import { ModelClient } from 'tstriton/client';

import { whenStarted } from '../when-started.js';
import { QUESTIONS } from './documents.js';
import { search } from './server.js';

export async function askSearch(url: string, own?: string): Promise<void> {
  await using client = new ModelClient(url, search);
  const find = async (question: string, by: string) => {
    const { page, text, score } = await client.inferSample({ question: [question] }, { parameters: { by } });
    return page.data.map((name, i) => ({ page: name, text: text.data[i]!, score: score.data[i]! }));
  };
  if (own !== undefined) {
    for (const { page, text, score } of await find(own, 'meaning')) {
      console.log(`${score.toFixed(2)} ${page}: ${text.slice(0, 90)} …`);
    }
    return;
  }
  for (const by of ['meaning', 'words']) {
    const answers = await Promise.all(QUESTIONS.map(([question]) => find(question, by)));
    const right = answers.filter((found, i) => found.some(({ page }) => QUESTIONS[i]!.includes(page)));
    console.log(
      `by ${by}: ${right.length} of ${QUESTIONS.length} questions are answered among the first five paragraphs`,
    );
  }
}

await whenStarted(import.meta.url, async () => {
  await askSearch(process.argv[2] ?? 'http://localhost:8000', process.argv[3]);
});
