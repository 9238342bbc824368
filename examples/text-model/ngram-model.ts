// A language model of n-grams: it counts which token follows which two, which one, and which any token, and writes by that.

/** A word or a sign, with the space before it. */
export type Token = string;

const TOKENS = / ?(?:[\p{L}\p{N}][\p{L}\p{N}'’_-]*|[^\s\p{L}\p{N}])/gu;
/** The end of a paragraph, as a token. No text has it. */
const END = '';
/** Tokens that the next one depends on. */
const ORDER = 2;
/** A keyword has at least so many letters. */
const KEYWORD_LETTERS = 4;

export function tokenize(text: string): Token[] {
  return text.replace(/\s+/g, ' ').match(TOKENS) ?? [];
}

export interface WritingOptions {
  /** 0 always writes the most frequent token; 1 writes as often as the text has it. */
  readonly temperature: number;
  /** Numbers in [0, 1). */
  readonly random: () => number;
}

export class NgramModel {
  /** For each context: how often each token follows it. */
  readonly #following = new Map<string, Map<Token, number>>();
  readonly #counts = new Map<string, number>();

  constructor(paragraphs: readonly string[]) {
    for (const paragraph of paragraphs) {
      const tokens = tokenize(` ${paragraph}`);
      tokens.push(END);
      for (const [at, token] of tokens.entries()) {
        for (let length = 0; length <= ORDER && length <= at; length++) {
          this.#count(contextOf(tokens.slice(at - length, at)), token);
        }
        const word = token.trim().toLowerCase();
        this.#counts.set(word, (this.#counts.get(word) ?? 0) + 1);
      }
    }
  }

  /** Whether the text has these tokens in a row, at most three. */
  knows(tokens: readonly Token[]): boolean {
    return this.#following.get(contextOf(tokens.slice(0, -1)))?.has(tokens.at(-1)!) === true;
  }

  /** The rarest word of a text that the model knows; undefined when it knows none. */
  keyword(text: string): string | undefined {
    const known = tokenize(text)
      .map((token) => token.trim())
      .filter((word) => word.length >= KEYWORD_LETTERS && this.#counts.has(word.toLowerCase()));
    return known.sort((a, b) => this.#counts.get(a.toLowerCase())! - this.#counts.get(b.toLowerCase())!)[0];
  }

  /** Writes on after these tokens, up to the end of a paragraph. */
  *write(after: readonly Token[], options: WritingOptions): Generator<Token> {
    let context = after.slice(-ORDER);
    for (;;) {
      const token = this.#next(context, options);
      if (token === END) return;
      yield token;
      context = [...context, token].slice(-ORDER);
    }
  }

  /** Of the longest context that the text has. */
  #next(context: readonly Token[], { temperature, random }: WritingOptions): Token {
    const known = [context, context.slice(1), []].map((end) => this.#following.get(contextOf(end)));
    const following = [...known.find((counts) => counts !== undefined)!];
    if (temperature === 0) return following.reduce((best, next) => (next[1] > best[1] ? next : best))[0];
    const weights = following.map(([, count]) => count ** (1 / temperature));
    let left = random() * weights.reduce((sum, weight) => sum + weight, 0);
    const chosen = weights.findIndex((weight) => (left -= weight) < 0);
    return following.at(chosen)![0];
  }

  #count(context: string, token: Token): void {
    const following = this.#following.get(context) ?? new Map<Token, number>();
    this.#following.set(context, following);
    following.set(token, (following.get(token) ?? 0) + 1);
  }
}

/** A key for tokens in a row. */
function contextOf(tokens: readonly Token[]): string {
  return tokens.join('\n');
}
