// The model of examples/language-id, without a server: its committed weights, its training and its treatment of odd input.
import { statSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import {
  fragment,
  randomFrom,
  readParagraphs,
  readSentences,
  splitSentences,
} from '../../examples/language-id/corpus.js';
import { exampleFile } from '../../examples/language-id/example-files.js';
import { markdownParagraphs } from '../../examples/language-id/markdown-paragraphs.js';
import { classify, decodeModel, encodeModel, LANGUAGES, UNDETERMINED } from '../../examples/language-id/model.js';
import { accuracyOf, committedSplit, countAnswers, scrapsOf } from '../../examples/language-id/train.js';
import { DEFAULT_OPTIONS, trainModel } from '../../examples/language-id/training.js';

const { training, heldOut } = committedSplit();

describe('the committed weights', () => {
  it('reach the accuracy that the README states on sentences they have not seen', () => {
    expect(accuracyOf(countAnswers(heldOut))).toBeGreaterThanOrEqual(0.986);
  });

  it('tell most languages from three words', () => {
    expect(accuracyOf(countAnswers(scrapsOf(heldOut)))).toBeGreaterThanOrEqual(0.926);
  });

  it('tell the language of every paragraph', () => {
    expect(accuracyOf(countAnswers(readParagraphs()))).toBe(1);
  });

  it('take less than a megabyte', () => {
    expect(statSync(exampleFile('model.bin')).size).toBeLessThan(2 ** 20);
  });
});

describe('classify', () => {
  it('answers an empty batch with nothing', () => {
    expect(classify([])).toEqual({ labels: [], scores: new Float32Array(0) });
  });

  it.each([
    ['an empty text', ''],
    ['white space', ' \n\t '],
    ['digits and punctuation', '12:30, 7 € (+20 %)'],
    ['a script it was not trained on', '今日は天気がいいですね'],
  ])('calls the language of %s undetermined, with equal scores', (_, text) => {
    const { labels, scores } = classify([text]);
    expect(labels).toEqual([UNDETERMINED]);
    for (const score of scores) expect(score).toBeCloseTo(1 / LANGUAGES.length, 6);
  });

  it('scores every text by itself, whatever else is in the batch', () => {
    const texts = ['Where is the station?', '', 'Где вокзал?', 'Wo ist denn hier der Bahnhof?'];
    const together = classify(texts);
    expect(together.labels).toEqual(['en', UNDETERMINED, 'ru', 'de']);
    texts.forEach((text, row) => {
      const alone = classify([text]).scores;
      expect(together.scores.slice(row * LANGUAGES.length, (row + 1) * LANGUAGES.length)).toEqual(alone);
      expect(alone.reduce((sum, score) => sum + score)).toBeCloseTo(1, 5);
    });
  });

  it('sees no difference between upper and lower case or composed and decomposed letters', () => {
    const text = 'Él todavía no sabía que mañana llovería.';
    const { scores } = classify([text]);
    expect(classify([text.toUpperCase()]).scores).toEqual(scores);
    expect(classify([text.normalize('NFD')]).scores).toEqual(scores);
  });

  it('is less sure of a text that is mostly in a strange script', () => {
    const english = 'the weather is fine';
    const { scores } = classify([english, `${english} ${'今日は天気がいいですね。散歩に行きましょう。'.repeat(3)}`]);
    const surest = [0, 1].map((row) =>
      Math.max(...scores.subarray(row * LANGUAGES.length, (row + 1) * LANGUAGES.length)),
    );
    expect(surest[1]).toBeLessThan(surest[0]!);
  });
});

describe('training', () => {
  const few = LANGUAGES.flatMap((language) =>
    training.filter((sentence) => sentence.language === language).slice(0, 12),
  );
  const options = { ...DEFAULT_OPTIONS, epochs: 4, minSentences: 1 };

  it('gives the same bytes for the same sentences and seed, and others for another seed', () => {
    const bytes = encodeModel(trainModel(few, options));
    expect(encodeModel(trainModel(few, options))).toEqual(bytes);
    expect(encodeModel(trainModel(few, { ...options, seed: options.seed + 1 }))).not.toEqual(bytes);
  });

  it('learns the sentences it was given', () => {
    expect(accuracyOf(countAnswers(few, trainModel(few, options)))).toBe(1);
  });
});

describe('the sentences', () => {
  it('are enough in every language, and none occurs twice', () => {
    const sentences = readSentences();
    for (const language of LANGUAGES) {
      expect(sentences.filter((sentence) => sentence.language === language).length).toBeGreaterThanOrEqual(120);
    }
    expect(new Set(sentences.map(({ text }) => text)).size).toBe(sentences.length);
  });

  it('are held out once in as many folds, never while they are trained on', () => {
    const sentences = readSentences();
    const splits = [0, 1, 2].map((fold) => splitSentences(sentences, 3, fold, 5));
    expect(splits.flatMap((split) => split.heldOut.map(({ text }) => text)).sort()).toEqual(
      sentences.map(({ text }) => text).sort(),
    );
    for (const split of splits) {
      const trained = new Set(split.training.map(({ text }) => text));
      expect(split.heldOut.filter(({ text }) => trained.has(text))).toEqual([]);
    }
  });

  it('are cut into runs of neighbouring words', () => {
    const text = 'one two three four five';
    for (let seed = 0; seed < 20; seed++) {
      const scrap = fragment(text, 3, randomFrom(seed));
      expect(text).toContain(scrap);
      expect(scrap.split(' ')).toHaveLength(3);
    }
    expect(fragment('too short', 3, randomFrom(1))).toBe('too short');
  });
});

describe('decodeModel', () => {
  it('reads what encodeModel wrote', () => {
    const model = {
      ngrams: new Map([
        [' a', 0],
        ['ß', 1],
      ]),
      weights: Float32Array.from({ length: 2 * LANGUAGES.length }, (_, i) => i / 7),
    };
    expect(decodeModel(encodeModel(model))).toEqual(model);
  });

  it('refuses a file that is cut short', () => {
    const bytes = encodeModel({ ngrams: new Map([['a', 0]]), weights: new Float32Array(LANGUAGES.length) });
    expect(() => decodeModel(bytes.subarray(0, bytes.length - 4))).toThrow(/expected \d+: train it again/);
  });
});

describe('markdownParagraphs', () => {
  it('keeps prose and drops headings, code, tables and short lines', () => {
    const markdown = [
      '# The title of this page',
      'Bind a *function* with [`bind`](bind.md) and\nit is [served](https://example.com/a).',
      '```ts\nconst answer = 42;\n\nconst more = `of the same`;\n```',
      '| a table | with some words | in it |',
      'Too short.',
      'The last paragraph stays.',
    ].join('\n\n');
    expect(markdownParagraphs(markdown)).toEqual([
      'Bind a function with and it is served.',
      'The last paragraph stays.',
    ]);
  });
});
