// Asks a running text model with OpenAI's own client, and prints each token as it comes.
//
//   node build/examples/text-model/client.js http://localhost:8000 What is a batch?
import OpenAI from 'openai';

import { whenStarted } from '../when-started.js';

/** The tokens of an answer, as they come. */
export async function* ask(url: string, question: string, seed?: number): AsyncGenerator<string> {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none' });
  const stream = await client.chat.completions.create({
    model: 'Writer',
    messages: [{ role: 'user', content: question }],
    max_completion_tokens: 60,
    stream: true,
    ...(seed !== undefined && { seed }),
  });
  for await (const { choices } of stream) yield choices[0]?.delta.content ?? '';
}

await whenStarted(import.meta.url, async () => {
  const [, , url = 'http://localhost:8000', ...question] = process.argv;
  const text = question.length === 0 ? 'What is a batch?' : question.join(' ');
  for await (const token of ask(url, text)) process.stdout.write(token);
  process.stdout.write('\n');
});
