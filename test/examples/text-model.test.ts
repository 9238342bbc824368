// examples/text-model: OpenAI's own client chats with a model that the example trains itself.
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';

import { readDocuments } from '../../examples/language-id/markdown-paragraphs.js';
import { ask } from '../../examples/text-model/client.js';
import { NgramModel, tokenize } from '../../examples/text-model/ngram-model.js';
import { bindTextModel } from '../../examples/text-model/server.js';
import { startServer } from '../support/start-server.js';

const model = new NgramModel(readDocuments());
const serve = () => startServer((triton) => bindTextModel(triton, model));

async function answer(url: string, question: string, seed: number): Promise<string> {
  let text = '';
  for await (const token of ask(url, question, seed)) text += token;
  return text;
}

describe('the text model of the example', () => {
  it('streams answers in the words of the documents, each to its own question', async () => {
    await using server = await serve();
    const words = ['batch', 'server', 'request', 'thread', 'client', 'tensor'];
    const answers = await Promise.all(
      words.flatMap((word, seed) => [answer(server.http, `A ${word}!`, seed), answer(server.http, `A ${word}!`, seed)]),
    );
    for (const [i, text] of answers.entries()) {
      const word = words[Math.floor(i / 2)]!;
      const tokens = tokenize(` ${text}`);
      expect(tokens[0]).toBe(` ${word}`);
      expect(tokens.length).toBeGreaterThan(1);
      expect(tokens.slice(1).every((token, at) => model.knows([tokens[at]!, token]))).toBe(true);
      // Equal seeds write equal answers.
      expect(text).toBe(answers[i - (i % 2)]);
    }
    expect(new Set(answers).size).toBe(words.length);
  });

  it('continues a text with its most frequent words, as long as asked', async () => {
    const text = 'The server sends an answer as soon as the reader has room for the answer.';
    await using server = await startServer((triton) => bindTextModel(triton, new NgramModel([text])));
    const client = new OpenAI({ baseURL: `${server.http}/v1`, apiKey: 'none' });
    const request = { model: 'Continue', prompt: 'The server', temperature: 0, max_tokens: 5 };
    const { choices, usage } = await client.completions.create(request);
    expect(choices).toMatchObject([{ text: ' sends an answer as soon', finish_reason: 'length' }]);
    expect(usage).toEqual({ prompt_tokens: 2, completion_tokens: 5, total_tokens: 7 });
    const stopped = await client.completions.create({ ...request, stop: ' answer' });
    expect(stopped.choices).toMatchObject([{ text: ' sends an', finish_reason: 'stop' }]);
    const whole = await client.completions.create({ ...request, prompt: 'Then the reader', max_tokens: 50 });
    expect(whole.choices).toMatchObject([{ text: ' has room for the answer.', finish_reason: 'stop' }]);
  });
});
