// Searches this project's documents by meaning: `Search` finds paragraphs for a question, and `Embed` gives the vectors behind it at the
// OpenAI API. With the parameter `by: 'words'` the search counts shared words instead, for comparison.
//
//   node build/examples/semantic-search/server.js
import { batch, defineModel, embeddingModel, Tensor, Triton } from 'tstriton';

import { whenStarted } from '../when-started.js';
import { type Paragraph, readParagraphs } from './documents.js';
import { TextSpace } from './text-space.js';

const FOUND = 5;

export const search = defineModel({
  modelName: 'Search',
  inputs: { question: { dtype: 'string', shape: [1] } },
  outputs: {
    page: { dtype: 'string', shape: [FOUND] },
    text: { dtype: 'string', shape: [FOUND] },
    score: { dtype: 'float32', shape: [FOUND] },
  },
  config: { maxBatchSize: 32 },
  strict: true,
});

interface Place extends Paragraph {
  readonly vector: Float32Array;
  readonly words: ReadonlyMap<number, number>;
}

/** The paragraphs, found by their vectors, or by the words that they share with a question. */
export class Library {
  readonly space: TextSpace;
  readonly #places: readonly Place[];

  constructor(paragraphs: readonly Paragraph[]) {
    this.space = new TextSpace(paragraphs.map(({ text }) => text));
    this.#places = paragraphs.map((one) => ({
      ...one,
      vector: this.space.vectorOf(one.text),
      words: new Map(this.space.weigh(one.text)),
    }));
  }

  find(question: string, by: 'meaning' | 'words'): readonly (Paragraph & { readonly score: number })[] {
    const asked = this.space.vectorOf(question);
    const askedWords = this.space.weigh(question);
    const scoreOf = ({ vector, words }: Place) =>
      by === 'meaning'
        ? vector.reduce((sum, value, i) => sum + value * asked[i]!, 0)
        : askedWords.reduce((sum, [word, weight]) => sum + weight * (words.get(word) ?? 0), 0);
    const scored = this.#places.map((place) => ({ page: place.page, text: place.text, score: scoreOf(place) }));
    return scored.sort((a, b) => b.score - a.score).slice(0, FOUND);
  }
}

export function bindSearch(triton: Triton, library: Library): void {
  triton.bind({
    ...search,
    inferFunc: batch(({ question }, { rowParameters }) => {
      const found = question.data.flatMap((text, row) =>
        library.find(text, rowParameters[row]!['by'] === 'words' ? 'words' : 'meaning'),
      );
      const shape = [question.rowCount, FOUND];
      return {
        page: new Tensor('string', found.map(({ page }) => page), shape), // prettier-ignore
        text: new Tensor('string', found.map(({ text }) => text), shape), // prettier-ignore
        score: new Tensor('float32', Float32Array.from(found, ({ score }) => score), shape), // prettier-ignore
      };
    }),
  });
  triton.bind(
    embeddingModel({
      modelName: 'Embed',
      embed: (texts) => texts.map((text) => library.space.vectorOf(text)),
    }),
  );
}

await whenStarted(import.meta.url, async () => {
  const triton = new Triton();
  bindSearch(triton, new Library(readParagraphs()));
  await triton.serve();
});
