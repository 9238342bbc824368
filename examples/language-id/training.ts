// Multinomial logistic regression by gradient descent: Adam on mini-batches. The gradient of a text is (probability - truth)
// times its n-gram values. A penalty on large weights made cross-validation worse, few epochs are what keeps them small.
import { fragment, randomFrom, shuffle, type LabelledText } from './corpus.js';
import { LANGUAGES, softmaxScores, type LanguageModel } from './model.js';
import { countNgrams, vectorise, type NgramVector } from './ngrams.js';

export interface TrainingOptions {
  readonly seed: number;
  readonly epochs: number;
  readonly learningRate: number;
  /** N-grams found in fewer sentences than this are not learnt. */
  readonly minSentences: number;
}

export const DEFAULT_OPTIONS: TrainingOptions = { seed: 20, epochs: 12, learningRate: 0.05, minSentences: 3 };

const BATCH_SIZE = 64;
const MOMENTUM = 0.9;
const SCALE_MEMORY = 0.999;
const EPSILON = 1e-8;

interface Example {
  readonly vector: NgramVector;
  readonly language: number;
}

/** Learns the weights from the sentences. The same sentences and options give the same weights. */
export function trainModel(
  sentences: readonly LabelledText[],
  options: TrainingOptions = DEFAULT_OPTIONS,
): LanguageModel {
  const random = randomFrom(options.seed);
  const ngrams = commonNgrams(sentences, options.minSentences);
  const examples = vary(sentences, random).map(({ text, language }): Example => ({
    vector: vectorise(text, ngrams),
    language: LANGUAGES.indexOf(language),
  }));
  const weights = new Float32Array(ngrams.size * LANGUAGES.length);
  const step = adam(weights);
  const gradient = new Float32Array(weights.length);
  for (let epoch = 0; epoch < options.epochs; epoch++) {
    const shuffled = shuffle(examples, random);
    for (let start = 0; start < shuffled.length; start += BATCH_SIZE) {
      gradient.fill(0);
      addGradients(shuffled.slice(start, start + BATCH_SIZE), weights, gradient);
      // The steps grow smaller over the run: the last ones settle instead of chasing the latest batch.
      step(gradient, options.learningRate * (1 - epoch / options.epochs));
    }
  }
  return { ngrams, weights };
}

function commonNgrams(sentences: readonly LabelledText[], minSentences: number): Map<string, number> {
  const found = new Map<string, number>();
  for (const { text } of sentences) {
    for (const ngram of countNgrams(text).keys()) found.set(ngram, (found.get(ngram) ?? 0) + 1);
  }
  const common = [...found].filter(([, count]) => count >= minSentences).map(([ngram]) => ngram);
  return new Map(common.sort().map((ngram, id) => [ngram, id]));
}

/** Beside every sentence two scraps of it and, for every other one, a paragraph of four: people ask about all of these. */
function vary(sentences: readonly LabelledText[], random: () => number): LabelledText[] {
  return LANGUAGES.flatMap((language) => {
    const own = sentences.filter((sentence) => sentence.language === language).map(({ text }) => text);
    const scraps = own.flatMap((text) => [fragment(text, 3, random), fragment(text, 4, random)]);
    const paragraphs = own
      .filter((_, i) => i % 2 === 0)
      .map((text) => [text, ...shuffle(own, random).slice(0, 3)].join(' '));
    return [...own, ...scraps, ...paragraphs].map((text) => ({ language, text }));
  });
}

function addGradients(batch: readonly Example[], weights: Float32Array, gradient: Float32Array): void {
  const errors = new Float32Array(LANGUAGES.length);
  for (const { vector, language } of batch) {
    softmaxScores(vector, weights, errors);
    errors[language]! -= 1;
    for (let i = 0; i < vector.ids.length; i++) {
      const row = vector.ids[i]! * LANGUAGES.length;
      const share = vector.values[i]! / batch.length;
      for (let j = 0; j < LANGUAGES.length; j++) gradient[row + j]! += share * errors[j]!;
    }
  }
}

/** Returns a function that moves the weights against a gradient: Adam, whose averages live as long as the function. */
function adam(weights: Float32Array): (gradient: Float32Array, learningRate: number) => void {
  const means = new Float32Array(weights.length);
  const squares = new Float32Array(weights.length);
  let steps = 0;
  return (gradient, learningRate) => {
    steps += 1;
    const rate = (learningRate * Math.sqrt(1 - SCALE_MEMORY ** steps)) / (1 - MOMENTUM ** steps);
    for (let i = 0; i < weights.length; i++) {
      means[i] = MOMENTUM * means[i]! + (1 - MOMENTUM) * gradient[i]!;
      squares[i] = SCALE_MEMORY * squares[i]! + (1 - SCALE_MEMORY) * gradient[i]! ** 2;
      weights[i]! -= (rate * means[i]!) / (Math.sqrt(squares[i]!) + EPSILON);
    }
  };
}
