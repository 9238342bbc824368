// Asks with OpenAI's own client, and prints each token as it comes.
//
//   node build/examples/node-llama-cpp/client.js http://localhost:8000 Why is the sky blue?
import OpenAI from 'openai';

import { whenStarted } from '../when-started.js';

export async function* askLlama(url: string, content: string): AsyncGenerator<string> {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none' });
  const stream = await client.chat.completions.create({
    model: 'Llama',
    stream: true,
    messages: [{ role: 'user', content }],
  });
  for await (const { choices } of stream) yield choices[0]?.delta.content ?? '';
}

await whenStarted(import.meta.url, async () => {
  const [, , url = 'http://localhost:8000', ...question] = process.argv;
  for await (const token of askLlama(url, question.join(' ') || 'Why is the sky blue?')) process.stdout.write(token);
  process.stdout.write('\n');
});
