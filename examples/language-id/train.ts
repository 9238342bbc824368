// Trains the model on four fifths of the sentences, judges it on the fifth it has not seen, and writes model.bin.
//
//   node build/examples/language-id/train.js                    train, print the accuracy, write the weights
//   node build/examples/language-id/train.js --cross-validate   hold out each fifth in turn, write nothing
import { writeFileSync } from 'node:fs';

import { whenStarted } from '../when-started.js';
import {
  fragment,
  randomFrom,
  readParagraphs,
  readSentences,
  splitSentences,
  type LabelledText,
  type Split,
} from './corpus.js';
import { exampleFile } from './example-files.js';
import { classify, encodeModel, LANGUAGES, type LanguageModel } from './model.js';
import { trainModel } from './training.js';

const FOLDS = 5;
const SEED = 1;

/** The split that the committed weights were trained with: its held-out sentences are new to them. */
export function committedSplit(): Split {
  return splitSentences(readSentences(), FOLDS, 0, SEED);
}

/** The held-out sentences cut down to three words each. */
export function scrapsOf(heldOut: readonly LabelledText[]): LabelledText[] {
  const random = randomFrom(SEED);
  return heldOut.map(({ language, text }) => ({ language, text: fragment(text, 3, random) }));
}

/** How many texts of each language (rows) were taken for which language (columns, then one for undetermined). */
export function countAnswers(texts: readonly LabelledText[], model?: LanguageModel): number[][] {
  const { labels } = classify(
    texts.map(({ text }) => text),
    model,
  );
  const table = LANGUAGES.map(() => new Array<number>(LANGUAGES.length + 1).fill(0));
  texts.forEach(({ language }, i) => {
    const column = (LANGUAGES as readonly string[]).indexOf(labels[i]!);
    table[LANGUAGES.indexOf(language)]![column === -1 ? LANGUAGES.length : column]! += 1;
  });
  return table;
}

/** The share of the counted texts whose language was told rightly. */
export function accuracyOf(table: readonly (readonly number[])[]): number {
  const right = table.reduce((sum, row, language) => sum + row[language]!, 0);
  return right / table.flat().reduce((sum, count) => sum + count, 0);
}

function describe(name: string, table: readonly (readonly number[])[]): string {
  const texts = table.flat().reduce((sum, count) => sum + count, 0);
  return `${name.padEnd(38)} ${(100 * accuracyOf(table)).toFixed(2).padStart(6)} %  of ${texts}`;
}

function formatTable(table: readonly (readonly number[])[]): string {
  const cells = (values: readonly (string | number)[]): string =>
    values.map((value) => String(value).padStart(5)).join('');
  return [cells(['', ...LANGUAGES, 'und']), ...table.map((row, i) => cells([LANGUAGES[i]!, ...row]))].join('\n');
}

function train(): void {
  const { training, heldOut } = committedSplit();
  console.log(`training on ${training.length} sentences in ${LANGUAGES.length} languages`);
  const started = performance.now();
  const model = trainModel(training);
  console.log(`${model.ngrams.size} n-grams, ${((performance.now() - started) / 1000).toFixed(1)} s`);

  const answers = countAnswers(heldOut, model);
  console.log(describe('unseen sentences', answers));
  console.log(describe('three words of each', countAnswers(scrapsOf(heldOut), model)));
  console.log(describe('paragraphs', countAnswers(readParagraphs(), model)));
  console.log(`\nunseen sentences: rows are the true language, columns the answer\n${formatTable(answers)}\n`);

  const bytes = encodeModel(model);
  writeFileSync(exampleFile('model.bin'), bytes);
  console.log(`model.bin: ${bytes.length} bytes`);
}

function crossValidate(): void {
  const sentences = readSentences();
  const scores = Array.from({ length: FOLDS }, (_, fold) => {
    const { training, heldOut } = splitSentences(sentences, FOLDS, fold, SEED);
    const model = trainModel(training);
    const answers = countAnswers(heldOut, model);
    const scraps = countAnswers(scrapsOf(heldOut), model);
    console.log(describe(`fold ${fold}: unseen sentences`, answers));
    console.log(describe(`fold ${fold}: three words of each`, scraps));
    return { answers, scraps };
  });
  const mean = (values: readonly number[]): string =>
    ((100 * values.reduce((a, b) => a + b)) / values.length).toFixed(2);
  console.log(
    `mean: sentences ${mean(scores.map(({ answers }) => accuracyOf(answers)))} %, three words ${mean(scores.map(({ scraps }) => accuracyOf(scraps)))} %`,
  );
}

await whenStarted(import.meta.url, async () => {
  if (process.argv.includes('--cross-validate')) crossValidate();
  else train();
});
