// A text model at the OpenAI API. At the start it counts the n-grams of this project's documents, and then writes in their style:
// `Writer` answers chats, `Continue` continues texts.
//
//   node build/examples/text-model/server.js
import { chatModel, completionModel, type GenerationOptions, messageText, Triton } from 'tstriton';

import { randomFrom } from '../language-id/corpus.js';
import { readDocuments } from '../language-id/markdown-paragraphs.js';
import { whenStarted } from '../when-started.js';
import { NgramModel, tokenize, type WritingOptions } from './ngram-model.js';

export function bindTextModel(triton: Triton, model: NgramModel): void {
  triton.bind(
    chatModel({
      modelName: 'Writer',
      *chat({ messages, ...options }) {
        const said = messages.map(messageText).join(' ');
        yield { usage: { promptTokens: tokenize(said).length } };
        // The answer begins with a word of the last message.
        const keyword = model.keyword(messageText(messages.at(-1)!));
        if (keyword !== undefined) yield keyword;
        yield* model.write(keyword === undefined ? [] : [` ${keyword}`], writing(options));
      },
    }),
  );
  triton.bind(
    completionModel({
      modelName: 'Continue',
      *complete({ prompt, ...options }) {
        const tokens = tokenize(` ${prompt}`);
        yield { usage: { promptTokens: tokens.length } };
        yield* model.write(tokens, writing(options));
      },
    }),
  );
}

function writing({ temperature = 0.7, seed }: Pick<GenerationOptions, 'temperature' | 'seed'>): WritingOptions {
  return { temperature, random: seed === undefined ? Math.random : randomFrom(seed) };
}

await whenStarted(import.meta.url, async () => {
  const triton = new Triton();
  bindTextModel(triton, new NgramModel(readDocuments()));
  await triton.serve();
});
