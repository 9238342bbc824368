// Finds the shapes and the binary sizes of inputs in the well-formed JSON text of a request, and reads them in the texts of others.
// Inputs of text, or of pictures, differ in these from request to request.

import { REQUEST_LIMITS } from '../../model/request-limits.js';
import { JsonArray } from '../json/json-value.js';
import type { MemberPlace } from './id-place.js';
import { member } from './json-members.js';
import type { JsonInput, JsonRequest } from './json-request.js';

/** A number of an input, or a list of them. */
export interface Size {
  readonly input: number;
  readonly member: 'shape' | 'binarySize';
}

interface SizePlace extends MemberPlace {
  readonly what: Size;
}

const SIZE_NAME = '"binary_data_size"';
const SIZES = /"binary_data_size"[ \t\n\r]*:[ \t\n\r]*(?=[0-9])/g;
/** A number with so many digits is exact. */
const MOST_DIGITS = 15;

/**
 * In the order of the text. Undefined where the text may mean something else: it has an escape or a NUL, or it names a size where
 * no input has one.
 */
export function findSizes(json: JsonRequest, text: string): readonly SizePlace[] | undefined {
  if (text.includes('\\') || text.includes('\0')) return undefined;
  const places: SizePlace[] = [];
  const starts = [...text.matchAll(SIZES)].map((found) => found.index + found[0].length);
  if (text.split(SIZE_NAME).length - 1 !== starts.length) return undefined;
  let sizes = 0;
  for (let input = 0; input < json.inputCount; input++) {
    const { json: value, binarySize } = json.input(input);
    const shape = member(value, 'shape');
    if (!(shape instanceof JsonArray)) return undefined;
    places.push({ start: shape.start, end: shape.end, what: { input, member: 'shape' } });
    if (binarySize === undefined) continue;
    const start = starts[sizes++];
    if (start === undefined) return undefined;
    const end = endOfDigits(text, start);
    if (text.slice(start, end) !== String(binarySize)) return undefined;
    places.push({ start, end, what: { input, member: 'binarySize' } });
  }
  return sizes === starts.length ? places : undefined;
}

/** The end of the integer that begins at `start`; `start` where none does that is exact and spelt as integers are. */
export function endOfDigits(text: string, start: number): number {
  let end = start;
  while (isDigit(text.charCodeAt(end))) end++;
  const isSpelt = end - start === 1 || text.charCodeAt(start) !== ZERO;
  return isSpelt && end - start <= MOST_DIGITS ? end : start;
}

/** The sizes of one request's inputs. */
export class InputSizes {
  readonly #json: JsonRequest;
  readonly #shapes: (readonly number[])[] = [];
  readonly #binarySizes: number[] = [];

  constructor(json: JsonRequest) {
    this.#json = json;
  }

  /** Reads what stands at a place in the request's text. Returns false for what is not plain. */
  read({ input, member: name }: Size, text: string, start: number, end: number): boolean {
    if (name === 'binarySize') {
      this.#binarySizes[input] = integerOf(text, start, end);
      return true;
    }
    const shape = readShape(text, start, end);
    if (shape === undefined) return false;
    this.#shapes[input] = shape;
    return true;
  }

  /** The inputs with these sizes; undefined where the size of a tensor may not be exact. */
  inputs(): readonly JsonInput[] | undefined {
    const inputs: JsonInput[] = [];
    for (let i = 0; i < this.#shapes.length; i++) {
      const { name, datatype, place, json } = this.#json.input(i);
      const shape = this.#shapes[i]!;
      let count = 1;
      for (let k = 0; k < shape.length; k++) count *= shape[k]!;
      if (count * 8 > Number.MAX_SAFE_INTEGER) return undefined;
      inputs.push({ name, datatype, shape, count, place, binarySize: this.#binarySizes[i], json });
    }
    return inputs;
  }
}

/** The dimensions between the brackets of a list; undefined for anything but a few short integers with commas. */
function readShape(text: string, start: number, end: number): readonly number[] | undefined {
  const shape: number[] = [];
  let at = start + 1;
  for (;;) {
    const next = endOfDigits(text, at);
    if (next === at || shape.length === REQUEST_LIMITS.rank) return undefined;
    shape.push(integerOf(text, at, next));
    if (next === end - 1) return shape;
    if (text.charCodeAt(next) !== COMMA) return undefined;
    at = text.charCodeAt(next + 1) === SPACE ? next + 2 : next + 1;
  }
}

/** Making a string of the digits would take longer than the rest. */
function integerOf(text: string, start: number, end: number): number {
  let integer = 0;
  for (let at = start; at < end; at++) integer = integer * 10 + text.charCodeAt(at) - ZERO;
  return integer;
}

const ZERO = 0x30;
const COMMA = 0x2c;
const SPACE = 0x20;

function isDigit(code: number): boolean {
  return code >= ZERO && code <= ZERO + 9;
}
