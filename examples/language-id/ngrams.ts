// What the model sees of a text: its character n-grams, one to four letters long, words padded by a space on either side.
// Digits and punctuation are left out: prices, links and brackets say nothing about a language.

/** A text as a sparse unit vector: `values[i]` belongs to the n-gram number `ids[i]`. */
export interface NgramVector {
  readonly ids: Uint32Array;
  readonly values: Float32Array;
}

const LONGEST = 4;
const NOT_A_LETTER = /[^\p{L}\p{M}]+/gu;

/** How often each n-gram occurs in the text. */
export function countNgrams(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  const letters = Array.from(` ${text.normalize('NFC').toLowerCase().replace(NOT_A_LETTER, ' ').trim()} `);
  for (let start = 0; start < letters.length; start++) {
    let ngram = '';
    for (let length = 1; length <= LONGEST && start + length <= letters.length; length++) {
      ngram += letters[start + length - 1]!;
      if (ngram.trim() !== '') counts.set(ngram, (counts.get(ngram) ?? 0) + 1);
    }
  }
  return counts;
}

/**
 * The text's vector over the n-grams the model knows. Counts go in as logarithms, so that one word repeated does not drown
 * the rest. Unknown n-grams have no place in the vector but do count towards its length: the more of a text is strange to
 * the model, the closer the scores come to a draw.
 */
export function vectorise(text: string, known: ReadonlyMap<string, number>): NgramVector {
  const counts = countNgrams(text);
  const ids: number[] = [];
  const values: number[] = [];
  let squares = 0;
  for (const [ngram, count] of counts) {
    const value = Math.log1p(count);
    squares += value * value;
    const id = known.get(ngram);
    if (id === undefined) continue;
    ids.push(id);
    values.push(value);
  }
  const norm = Math.sqrt(squares);
  return { ids: Uint32Array.from(ids), values: Float32Array.from(values, (value) => value / norm) };
}
