// The language model: a softmax over weighted character n-grams, evaluated for a whole batch of texts at once. train.ts
// makes the weights, server.ts answers requests with them.
import { readFileSync } from 'node:fs';

import { exampleFile } from './example-files.js';
import { vectorise, type NgramVector } from './ngrams.js';

export const LANGUAGES = ['de', 'en', 'es', 'fr', 'it', 'nl', 'pl', 'pt', 'ru'] as const;
export type Language = (typeof LANGUAGES)[number];

/** The label of a text in which the model knows no n-gram at all (ISO 639's code for undetermined). */
export const UNDETERMINED = 'und';

export interface LanguageModel {
  /** The number of each n-gram, which is its row in `weights`. */
  readonly ngrams: ReadonlyMap<string, number>;
  /** `[ngrams, languages]`, row by row. */
  readonly weights: Float32Array;
}

export interface Classification {
  /** The most likely language of each text. */
  readonly labels: string[];
  /** `[texts, languages]`, each row adding up to 1, in the order of `LANGUAGES`. */
  readonly scores: Float32Array;
}

/** Tells the language of each text, with the weights of this example unless others are given. */
export function classify(texts: readonly string[], model: LanguageModel = committedModel()): Classification {
  const scores = new Float32Array(texts.length * LANGUAGES.length);
  const labels = texts.map((text, row) => {
    const vector = vectorise(text, model.ngrams);
    const mine = scores.subarray(row * LANGUAGES.length, (row + 1) * LANGUAGES.length);
    softmaxScores(vector, model.weights, mine);
    return vector.ids.length === 0 ? UNDETERMINED : LANGUAGES[indexOfLargest(mine)]!;
  });
  return { labels, scores };
}

/** Writes the probabilities of the languages for one text into `scores`. */
export function softmaxScores(vector: NgramVector, weights: Float32Array, scores: Float32Array): void {
  const { ids, values } = vector;
  const languages = LANGUAGES.length;
  scores.fill(0);
  for (let i = 0; i < ids.length; i++) {
    const row = ids[i]! * languages;
    const value = values[i]!;
    for (let language = 0; language < languages; language++) scores[language]! += value * weights[row + language]!;
  }
  const largest = Math.max(...scores);
  let sum = 0;
  for (let language = 0; language < languages; language++) {
    scores[language] = Math.exp(scores[language]! - largest);
    sum += scores[language]!;
  }
  for (let language = 0; language < languages; language++) scores[language]! /= sum;
}

function indexOfLargest(values: Float32Array): number {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (values[i]! > values[best]!) best = i;
  return best;
}

let committed: LanguageModel | undefined;

function committedModel(): LanguageModel {
  committed ??= decodeModel(readFileSync(exampleFile('model.bin')));
  return committed;
}

// The file: the header's length in bytes (uint32), the header as JSON padded with spaces to a multiple of four, then the
// weights as float32; all little-endian.

interface Header {
  readonly languages: readonly string[];
  readonly ngrams: readonly string[];
}

export function encodeModel(model: LanguageModel): Uint8Array {
  const header: Header = { languages: LANGUAGES, ngrams: [...model.ngrams.keys()] };
  const json = new TextEncoder().encode(JSON.stringify(header));
  const headerLength = Math.ceil(json.length / 4) * 4;
  const bytes = new Uint8Array(4 + headerLength + model.weights.length * 4).fill(0x20);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, headerLength, true);
  bytes.set(json, 4);
  model.weights.forEach((weight, i) => view.setFloat32(4 + headerLength + i * 4, weight, true));
  return bytes;
}

export function decodeModel(bytes: Uint8Array): LanguageModel {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const headerLength = view.getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + headerLength))) as Header;
  if (header.languages.join() !== LANGUAGES.join()) {
    throw new Error(
      `the model file is for the languages ${header.languages.join()}, expected ${LANGUAGES.join()}: train it again`,
    );
  }
  const count = header.ngrams.length * LANGUAGES.length;
  const expected = 4 + headerLength + count * 4;
  if (bytes.length !== expected)
    throw new Error(`the model file has ${bytes.length} bytes, expected ${expected}: train it again`);
  return {
    ngrams: new Map(header.ngrams.map((ngram, id) => [ngram, id])),
    weights: Float32Array.from({ length: count }, (_, i) => view.getFloat32(4 + headerLength + i * 4, true)),
  };
}
