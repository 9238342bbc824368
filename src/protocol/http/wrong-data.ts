// The errors of a tensor's JSON: Triton's words first, which do not say which tensor it is, and then what was expected and what came.
// The browser build of the client goes without the second part.

import { invalidArg, type TritonError } from '../../errors.js';
import { JsonDouble, type JsonValue } from '../json/json-value.js';
import { type DataText, type Wanted, wrongCount, wrongType } from './tensor-data-reader.js';

/** Text beyond it is not looked at for an error's sake. */
const MOST_TEXT = 65_536;
const MOST_SHOWN = 40;
const NOT_STRING = 'Unable to parse JSON bytes array: attempt to access JSON non-string as string';

export function wrongCountOf({ name, count }: Wanted, got: string): TritonError {
  return behind(wrongCount(), `${count} element${count === 1 ? '' : 's'} for the shape of '${name}', got ${got}`);
}

/** `words`: Triton's. `element`: the text from it on. */
export function wrongElement(words: string, element: DataText, { name, datatype }: Wanted, index: number): TritonError {
  return behind(wrongType(words), `${datatype} for '${name}', got ${valueAt(element)} at index ${index}`);
}

/** An element of a BYTES tensor other than a string. */
export function notString(bytes: Buffer, start: number, end: number, { name }: Wanted): TritonError {
  return behind(invalidArg(NOT_STRING), `strings for '${name}', got ${valueAt({ bytes, start, end })}`);
}

export function wrongDim(name: string, dims: readonly JsonValue[], index: number): TritonError {
  const words = "Unable to parse 'shape': attempt to access JSON non-unsigned-integer as unsigned-integer";
  const got = `got ${shown(dims[index]!)} at index ${index}`;
  return behind(invalidArg(words), `integers of at least 0 for the shape of '${name}', ${got}`);
}

export function unknownDatatype(name: string, given: JsonValue): TritonError {
  const words = `invalid datatype for input ${name}`;
  return behind(invalidArg(words), `a name of Triton's, such as FP32, INT64 or BYTES, got ${shown(given)}`);
}

/** The number of elements from the first one of the text on, or undefined where that is not to be had soon. */
export function elementsBehind({ bytes, start, end }: DataText): number | undefined {
  if (end - start > MOST_TEXT) return undefined;
  const text = bytes.toString('latin1', start, end);
  return /["{]/.test(text) ? undefined : text.match(/[^ \t\r\n,[\]]+/g)?.length;
}

function behind({ message }: TritonError, expected: string): TritonError {
  return invalidArg(`${message}: expected ${expected}`);
}

/** The JSON value that the text begins with, cut where it is long. */
function valueAt({ bytes, start, end }: DataText): string {
  const text = bytes.toString('utf8', start, Math.min(end, start + MOST_SHOWN));
  const [whole = `${text}…`] = /^(?:"(?:[^"\\]|\\.)*"|[^ \t\r\n"{,[\]}]+(?=[ \t\r\n,[\]}]|$))/s.exec(text) ?? [];
  return whole;
}

function shown(value: JsonValue): string {
  if (value instanceof JsonDouble) return Number.isInteger(value.value) ? value.value.toFixed(1) : String(value.value);
  if (typeof value === 'string') return JSON.stringify(value.slice(0, MOST_SHOWN));
  return typeof value === 'object' && value !== null ? 'no number' : String(value);
}
