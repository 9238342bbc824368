// The sentences that the model is trained and judged on, and the ways to divide and vary them. Everything random comes
// from a seed, so a split and a training run can be repeated.
import { readFileSync } from 'node:fs';

import { exampleFile } from './example-files.js';
import { LANGUAGES, type Language } from './model.js';

export interface LabelledText {
  readonly language: Language;
  readonly text: string;
}

export interface Split {
  readonly training: readonly LabelledText[];
  readonly heldOut: readonly LabelledText[];
}

/** All sentences of the example, a line each in `sentences/<language>.txt`. */
export function readSentences(): LabelledText[] {
  return LANGUAGES.flatMap((language) =>
    readFileSync(exampleFile('sentences', `${language}.txt`), 'utf8')
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((text) => ({ language, text })),
  );
}

/** The paragraphs of the example, set apart by blank lines in `paragraphs/<language>.txt`; the model never trains on them. */
export function readParagraphs(): LabelledText[] {
  return LANGUAGES.flatMap((language) =>
    readFileSync(exampleFile('paragraphs', `${language}.txt`), 'utf8')
      .split(/\n\s*\n/)
      .filter((paragraph) => paragraph.trim() !== '')
      .map((paragraph) => ({ language, text: paragraph.trim() })),
  );
}

/** Deals the sentences of each language into `folds` piles and holds out the pile number `fold`: 5 folds hold out a fifth. */
export function splitSentences(sentences: readonly LabelledText[], folds: number, fold: number, seed: number): Split {
  const random = randomFrom(seed);
  const training: LabelledText[] = [];
  const heldOut: LabelledText[] = [];
  for (const language of LANGUAGES) {
    const own = shuffle(
      sentences.filter((sentence) => sentence.language === language),
      random,
    );
    own.forEach((sentence, i) => (i % folds === fold ? heldOut : training).push(sentence));
  }
  return { training, heldOut };
}

/** A run of `words` words from the middle of a text, or the whole text when it is shorter. */
export function fragment(text: string, words: number, random: () => number): string {
  const all = text.split(/\s+/);
  const start = Math.floor(random() * Math.max(1, all.length - words + 1));
  return all.slice(start, start + words).join(' ');
}

/** mulberry32: numbers in [0, 1) that depend on nothing but the seed. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function shuffle<T>(items: readonly T[], random: () => number): T[] {
  const shuffled = [...items];
  for (let last = shuffled.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [shuffled[last], shuffled[other]] = [shuffled[other]!, shuffled[last]!];
  }
  return shuffled;
}
