// Ends a text before the first of some sequences of characters, also where the text comes in pieces that cut a sequence.
// Characters that may begin a sequence are held back until it is known. The time is proportional to the text (Knuth, Morris
// and Pratt).

interface Sequence {
  readonly text: string;
  /** For each length of a matched beginning: the length of the next shorter beginning that it ends with. */
  readonly shorter: Int32Array;
  /** How many of its characters the text ends with. */
  matched: number;
}

export class StopText {
  readonly #sequences: readonly Sequence[];
  #held = '';
  #isFound = false;

  /** None of the sequences is empty. */
  constructor(sequences: readonly string[]) {
    this.#sequences = sequences.map((text) => ({ text, shorter: shorterBeginnings(text), matched: 0 }));
  }

  /** Whether a sequence was found. Nothing may be pushed after that. */
  get isFound(): boolean {
    return this.#isFound;
  }

  /** Takes a piece of text, and returns the text that nothing can stop any more. */
  push(piece: string): string {
    if (this.#sequences.length === 0) return piece;
    const text = this.#held + piece;
    for (let at = this.#held.length; at < text.length; at++) {
      let found = 0;
      const code = text.charCodeAt(at);
      for (const sequence of this.#sequences) {
        if (advance(sequence, code) && sequence.text.length > found) found = sequence.text.length;
      }
      if (found === 0) continue;
      this.#isFound = true;
      this.#held = '';
      return text.slice(0, at + 1 - found);
    }
    const held = Math.max(...this.#sequences.map(({ matched }) => matched));
    this.#held = text.slice(text.length - held);
    return text.slice(0, text.length - held);
  }

  /** The text has ended. Returns the rest of it. */
  end(): string {
    const rest = this.#held;
    this.#held = '';
    return rest;
  }
}

/** Takes one more character. Returns whether the text now ends with the sequence. */
function advance(sequence: Sequence, code: number): boolean {
  const { text, shorter } = sequence;
  let { matched } = sequence;
  while (matched > 0 && text.charCodeAt(matched) !== code) matched = shorter[matched]!;
  if (text.charCodeAt(matched) === code) matched++;
  sequence.matched = matched;
  return matched === text.length;
}

function shorterBeginnings(text: string): Int32Array {
  const shorter = new Int32Array(text.length + 1);
  let matched = 0;
  for (let at = 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    while (matched > 0 && text.charCodeAt(matched) !== code) matched = shorter[matched]!;
    if (text.charCodeAt(matched) === code) matched++;
    shorter[at + 1] = matched;
  }
  return shorter;
}
