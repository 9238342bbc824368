// Vectors for texts by latent semantic analysis (Deerwester et al. 1990): words that occur in the same paragraphs come to lie in the
// same direction. The paragraphs' weighted counts of words are a matrix, and its largest singular vectors span the space. They are
// found by subspace iteration (Halko et al. 2011, algorithm 4.4).
import { randomFrom } from '../language-id/corpus.js';

export const DIMENSIONS = 96;
const ROUNDS = 4;

/** Weights by the number of a word, whose squares add up to 1. */
export type Sparse = readonly (readonly [word: number, weight: number])[];

/** Words in lower case without their endings, roughly. */
export function wordsOf(text: string): string[] {
  return (text.toLowerCase().match(/[a-z]{2,}/g) ?? []).map((word) =>
    word.length > 4 ? word.replace(/(?:ings?|edly|ed|ies|es|s|e|y)$/, '') : word,
  );
}

export class TextSpace {
  readonly #numbers = new Map<string, number>();
  /** How much a word says: little if many paragraphs have it. */
  readonly #worth: number[] = [];
  /** One vector for each word. */
  readonly #basis: Float64Array[];

  constructor(texts: readonly string[]) {
    const counts = texts.map(wordsOf);
    const paragraphsOf = new Map<string, number>();
    for (const words of counts)
      for (const word of new Set(words)) paragraphsOf.set(word, (paragraphsOf.get(word) ?? 0) + 1);
    for (const [word, count] of paragraphsOf) {
      if (count < 2) continue;
      this.#numbers.set(word, this.#worth.push(Math.log(texts.length / count)) - 1);
    }
    this.#basis = this.#largestDirections(texts.map((text) => this.weigh(text)));
  }

  /** The vector of a text, of length 1; zeros if none of its words is known. */
  vectorOf(text: string): Float32Array {
    const vector = new Float32Array(DIMENSIONS);
    for (const [word, weight] of this.weigh(text)) {
      const row = this.#basis[word]!;
      for (let i = 0; i < DIMENSIONS; i++) vector[i]! += weight * row[i]!;
    }
    const length = Math.hypot(...vector);
    return length === 0 ? vector : vector.map((value) => value / length);
  }

  /** How much each of its words says about a text. */
  weigh(text: string): Sparse {
    const counts = new Map<number, number>();
    for (const word of wordsOf(text)) {
      const number = this.#numbers.get(word);
      if (number !== undefined) counts.set(number, (counts.get(number) ?? 0) + 1);
    }
    const weights = Array.from(counts, ([word, count]) => [word, (1 + Math.log(count)) * this.#worth[word]!] as const);
    const length = Math.hypot(...weights.map(([, weight]) => weight));
    return weights.map(([word, weight]) => [word, weight / length] as const);
  }

  #largestDirections(matrix: readonly Sparse[]): Float64Array[] {
    const random = randomFrom(7);
    const words = Array.from(this.#worth, () => Float64Array.from({ length: DIMENSIONS }, () => random() - 0.5));
    for (let round = 0; round < ROUNDS; round++) {
      const paragraphs = matrix.map((row) => {
        const sum = new Float64Array(DIMENSIONS);
        for (const [word, weight] of row) add(sum, words[word]!, weight);
        return sum;
      });
      for (const vector of words) vector.fill(0);
      matrix.forEach((row, i) => {
        for (const [word, weight] of row) add(words[word]!, paragraphs[i]!, weight);
      });
      orthonormalize(words);
    }
    return words;
  }
}

function add(sum: Float64Array, vector: Float64Array, factor: number): void {
  for (let i = 0; i < DIMENSIONS; i++) sum[i]! += factor * vector[i]!;
}

/** Makes the columns orthogonal, each of length 1 (Gram and Schmidt). */
function orthonormalize(rows: readonly Float64Array[]): void {
  const dot = (a: number, b: number) => rows.reduce((sum, row) => sum + row[a]! * row[b]!, 0);
  for (let column = 0; column < DIMENSIONS; column++) {
    for (let before = 0; before < column; before++) {
      const share = dot(before, column);
      for (const row of rows) row[column]! -= share * row[before]!;
    }
    const length = Math.sqrt(dot(column, column)) || 1;
    for (const row of rows) row[column]! /= length;
  }
}
