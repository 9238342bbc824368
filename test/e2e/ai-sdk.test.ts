// The OpenAI API by Vercel's AI SDK, with its provider for servers like ours.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { embedMany, generateText, stepCountIs, streamText, tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { chatModel, embeddingModel, messageText, type Triton } from 'tstriton';

import { startServer } from '../support/start-server.js';

function bindModels(triton: Triton): void {
  triton.bind(
    chatModel({
      modelName: 'Writer',
      async *chat({ messages, tools }) {
        const last = messages.at(-1)!;
        const text = messageText(last);
        if (last.role === 'tool') {
          yield `The tool says ${text}.`;
        } else if (tools.length > 0) {
          yield { toolCalls: [{ name: tools[0]!.function.name, arguments: { city: text } }] };
        } else {
          for (const token of text.split(/(?<= )/)) yield token;
        }
      },
    }),
  );
  triton.bind(embeddingModel({ modelName: 'Embed', embed: (texts) => texts.map(({ length }) => [length, 0.5]) }));
}

const providerOf = (http: string) =>
  createOpenAICompatible({ name: 'tstriton', baseURL: `${http}/v1`, apiKey: 'none', includeUsage: true });

describe('the AI SDK', () => {
  it('generates and streams text, each to its own prompt', async () => {
    await using server = await startServer(bindModels);
    const model = providerOf(server.http)('Writer');
    const prompts = ['one', 'two words', 'three words now'];
    const texts = await Promise.all(prompts.map(async (prompt) => (await generateText({ model, prompt })).text));
    expect(texts).toEqual(prompts);
    const streams = await Promise.all(
      prompts.map(async (prompt) => {
        const { textStream, usage, finishReason } = streamText({ model, prompt });
        const parts: string[] = [];
        for await (const part of textStream) parts.push(part);
        return [parts, (await usage).outputTokens, await finishReason];
      }),
    );
    expect(streams).toEqual(prompts.map((prompt, i) => [prompt.split(/(?<= )/), i + 1, 'stop']));
  });

  it('calls tools and gives their results back', async () => {
    await using server = await startServer(bindModels);
    const inputSchema = z.object({ city: z.string() });
    const weather = tool({ description: 'The weather', inputSchema, execute: ({ city }) => `${city}: rain` });
    const request = { model: providerOf(server.http)('Writer'), prompt: 'Oslo', tools: { weather }, stopWhen: stepCountIs(3) };
    expect((await generateText(request)).text).toBe('The tool says Oslo: rain.');
    expect(await streamText(request).text).toBe('The tool says Oslo: rain.');
  }); // prettier-ignore

  it('embeds texts', async () => {
    await using server = await startServer(bindModels);
    const model = providerOf(server.http).embeddingModel('Embed');
    const { embeddings } = await embedMany({ model, values: ['a', 'bbb'] });
    expect(embeddings).toEqual([
      [1, 0.5],
      [3, 0.5],
    ]);
  });
});
