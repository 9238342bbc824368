// Reads the tokens of protobuf's text format (https://protobuf.dev/reference/protobuf/textformat-spec/) in linear time. A token's
// string is bytes, because escapes may produce any byte.

/** The position of a token. Lines and columns count from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export type Token = Position &
  (
    | { readonly kind: 'end' }
    /** One character that stands for itself. */
    | { readonly kind: 'symbol'; readonly text: string }
    | { readonly kind: 'identifier'; readonly text: string }
    /** Without a sign; `text` is as written, without a final `f`. */
    | { readonly kind: 'integer' | 'float'; readonly text: string }
    | { readonly kind: 'string'; readonly bytes: Uint8Array }
  );

/** The error for a text that is not in the format, or does not fit the message. */
export class TextFormatError extends Error {
  readonly position: Position;

  /** The message contains the position, as `line:column: what`. */
  constructor(what: string, position: Position) {
    super(`${position.line}:${position.column}: ${what}`);
    this.position = { line: position.line, column: position.column };
  }
}

const SPACE = /[ \n\t\v\f\r]+/y;
const COMMENT = /#[^\n]*/y;
const IDENTIFIER = /[A-Za-z_][A-Za-z0-9_]*/y;
const NUMBER = /(?:0[xX][0-9a-fA-F]*|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]*)?)[fF]?/y;
const INTEGER = /^(?:0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)$/;
const FLOAT = /^(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][+-]?[0-9]+)?[fF]?$/;
const SYMBOLS = '{}<>[]:,;-/.';
const PLAIN: Readonly<Record<'"' | "'", RegExp>> = { '"': /[^"\\\n\0]+/y, "'": /[^'\\\n\0]+/y };
const ESCAPE = /\\(?:([abfnrtv?\\'"])|([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))/y;
const LETTERS: Readonly<Record<string, number>> = { a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11 };

export class Tokens {
  readonly #text: string;
  #at = 0;
  #line = 1;
  #lineStart = 0;
  #current: Token;

  constructor(text: string) {
    this.#text = text;
    this.#current = this.#read();
  }

  /** The next token, which stays there. */
  get current(): Token {
    return this.#current;
  }

  /** Takes the next token. Throws {@link TextFormatError} when no token follows it. */
  take(): Token {
    const token = this.#current;
    if (token.kind !== 'end') this.#current = this.#read();
    return token;
  }

  #read(): Token {
    this.#skipSpace();
    const position = this.#position();
    if (this.#at >= this.#text.length) return { ...position, kind: 'end' };
    const character = this.#text[this.#at]!;
    const identifier = this.#match(IDENTIFIER);
    if (identifier !== undefined) return { ...position, kind: 'identifier', text: identifier };
    if (character === '"' || character === "'") return { ...position, kind: 'string', bytes: this.#string(character) };
    const number = this.#match(NUMBER);
    if (number !== undefined) return { ...position, ...this.#number(number, position) };
    if (!SYMBOLS.includes(character)) {
      const shown = JSON.stringify(String.fromCodePoint(this.#text.codePointAt(this.#at)!));
      throw new TextFormatError(`the character ${shown} stands outside of strings and comments`, position);
    }
    this.#at++;
    return { ...position, kind: 'symbol', text: character };
  }

  #position(): Position {
    return { line: this.#line, column: this.#at - this.#lineStart + 1 };
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found === undefined) return undefined;
    this.#at += found.length;
    return found;
  }

  #skipSpace(): void {
    for (;;) {
      const from = this.#at;
      const space = this.#match(SPACE);
      if (space === undefined && this.#match(COMMENT) === undefined) return;
      for (let end = space?.indexOf('\n') ?? -1; end >= 0; end = space!.indexOf('\n', end + 1)) {
        this.#line++;
        this.#lineStart = from + end + 1;
      }
    }
  }

  #number(text: string, position: Position): { readonly kind: 'integer' | 'float'; readonly text: string } {
    // Letters right behind the number belong to it.
    const rest = this.#match(IDENTIFIER) ?? '';
    if (rest === '' && INTEGER.test(text)) return { kind: 'integer', text };
    if (rest === '' && FLOAT.test(text)) return { kind: 'float', text: text.replace(/[fF]$/, '') };
    throw new TextFormatError(`${clip(text + rest)} is no number`, position);
  }

  #string(quote: '"' | "'"): Uint8Array {
    const start = this.#position();
    const parts: Uint8Array[] = [];
    this.#at++;
    for (;;) {
      const plain = this.#match(PLAIN[quote]);
      if (plain !== undefined) parts.push(Buffer.from(plain));
      const next = this.#text[this.#at];
      if (next === quote) break;
      if (next === undefined || next === '\n') throw new TextFormatError('the string has no end on its line', start);
      if (next !== '\\') throw new TextFormatError('a string has the character U+0000; write \\0', this.#position());
      parts.push(this.#escape());
    }
    this.#at++;
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
  }

  #escape(): Uint8Array {
    const position = this.#position();
    ESCAPE.lastIndex = this.#at;
    const found = ESCAPE.exec(this.#text);
    if (found === null) {
      throw new TextFormatError(`${clip(this.#text.slice(this.#at, this.#at + 2))} is no escape sequence`, position);
    }
    this.#at += found[0].length;
    const [, letter, octal, hexadecimal, short, long] = found;
    if (letter !== undefined) return Uint8Array.of(LETTERS[letter] ?? letter.charCodeAt(0));
    if (octal !== undefined) return Uint8Array.of(this.#byte(Number.parseInt(octal, 8), position));
    if (hexadecimal !== undefined) return Uint8Array.of(Number.parseInt(hexadecimal, 16));
    return this.#codePoint(Number.parseInt((short ?? long)!, 16), position);
  }

  #byte(value: number, position: Position): number {
    if (value > 255) throw new TextFormatError('an octal escape sequence is above \\377', position);
    return value;
  }

  #codePoint(first: number, position: Position): Uint8Array {
    let point = first;
    if (isSurrogate(first)) {
      // A pair of surrogates stands for one character.
      ESCAPE.lastIndex = this.#at;
      const next = ESCAPE.exec(this.#text);
      const second = Number.parseInt(next?.[4] ?? '0', 16);
      if (first >= 0xdc00 || second < 0xdc00 || second > 0xdfff)
        throw new TextFormatError('an escape sequence stands for half of a character', position);
      this.#at += next![0].length;
      point = 0x10000 + (first - 0xd800) * 0x400 + (second - 0xdc00);
    }
    if (point > 0x10ffff) throw new TextFormatError('an escape sequence stands for no character', position);
    return Buffer.from(String.fromCodePoint(point));
  }
}

function isSurrogate(point: number): boolean {
  return point >= 0xd800 && point <= 0xdfff;
}

/** A part of a file, cut to one short line for a message. */
export function clip(text: string): string {
  const short = text.length > 40 ? `${text.slice(0, 40)}…` : text;
  return JSON.stringify(short);
}
