// The parser of JSON against JSON.parse, which says what is JSON, and a reader of its tokens, which keeps 64-bit integers and the
// first of equal names as ours does; and against itself when it pauses anywhere.
import { TritonError } from '../../../src/errors.js';
import { ANY } from '../../../src/protocol/json/json-shape.js';
import { jsonElements, JsonParser, parseJson } from '../../../src/protocol/json/json-parser.js';
import { JsonArray, JsonDouble, JsonObject, JsonText, type JsonValue } from '../../../src/protocol/json/json-value.js';
import { type FuzzTarget, must, randomOf } from '../fuzz-target.js';
import { jsonText } from './json-texts.js';

/** What ours takes and JSON.parse does not: numbers that are none, a byte order mark, a NUL behind the value. */
const WIDER = /NaN|Inf|\0|\ufeff/;
/** What JSON.parse takes and ours does not. */
const NARROWER = /surrogate|too big to be stored in double|nested|limit|depth/i;

export const json: FuzzTarget = {
  about: 'JSON against JSON.parse, and in pieces',
  make: (random) => Buffer.from(jsonText(random)),
  check(input) {
    const ours = outcome(() => parseJson(input));
    const random = randomOf(input);
    const paused = outcome(() => {
      const parser = new JsonParser(input, {}, ANY);
      while (!parser.advance(random.of([1, 2, 3, 10, 100])));
      return parser.value;
    });
    const [whole, inPieces] = [told(ours), told(paused)];
    must(whole === inPieces, () => `with pauses it is ${inPieces}, without ${whole}`);
    const theirs = referenceOf(input);
    if (ours instanceof TritonError) {
      must(theirs === undefined || NARROWER.test(ours.message), () => `refused with '${ours.message}', but it is JSON`);
      return false;
    }
    if (theirs === undefined) must(WIDER.test(input.toString()), () => `taken for ${whole}, but it is no JSON`);
    else must(whole === theirs, () => `read as ${whole}, expected ${theirs}`);
    return true;
  },
};

function outcome(parse: () => JsonValue): JsonValue | TritonError {
  try {
    return parse();
  } catch (error) {
    if (error instanceof TritonError && error.code === 'INVALID_ARG') return error;
    throw error;
  }
}

function told(value: JsonValue | TritonError): string {
  return value instanceof TritonError ? `the error ${value.message}` : textOf(value);
}

/** One text for equal values, whoever read them. */
function textOf(value: JsonValue): string {
  if (value instanceof JsonObject) {
    const keys = [...new Set(value.keys)];
    return `{${keys.map((key) => `${JSON.stringify(key)}:${textOf(value.get(key)!)}`).join()}}`;
  }
  if (value instanceof JsonArray) return `[${jsonElements(value).map(textOf).join()}]`;
  if (value instanceof JsonDouble) return doubleText(value.value);
  if (typeof value === 'string' || value instanceof JsonText) return JSON.stringify(String(value));
  return String(value as null | boolean | number | bigint);
}

function doubleText(value: number): string {
  return `double ${Object.is(value, -0) ? '-0' : value}`;
}

const TOKEN = /\s*("(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+)/gsu;
const INTEGER = /^-?[0-9]+$/;

/** The same text; undefined: it is no JSON in UTF-8. */
function referenceOf(input: Buffer): string | undefined {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(input);
    JSON.parse(text);
  } catch {
    return undefined;
  }
  const tokens = [...text.matchAll(TOKEN)].map(([, token]) => token!);
  let at = 0;
  const value = (): string => {
    const token = tokens[at++]!;
    if (token === '[') return `[${items(']', value).join()}]`;
    if (token === '{') {
      const members = new Map<string, string>();
      items('}', () => {
        const key = JSON.stringify(JSON.parse(tokens[at++]!));
        at++;
        const member = value();
        if (!members.has(key)) members.set(key, member);
      });
      return `{${[...members].map(([key, member]) => `${key}:${member}`).join()}}`;
    }
    if (token.startsWith('"')) return JSON.stringify(JSON.parse(token));
    if (!/^[-0-9]/.test(token)) return token;
    return INTEGER.test(token) && fits(BigInt(token)) ? String(BigInt(token)) : doubleText(Number(token));
  };
  const items = <T>(end: string, read: () => T): T[] => {
    const all: T[] = [];
    while (tokens[at] !== end) {
      if (tokens[at] === ',') at++;
      all.push(read());
    }
    at++;
    return all;
  };
  return value();
}

function fits(value: bigint): boolean {
  return value >= -(2n ** 63n) && value < 2n ** 64n;
}
