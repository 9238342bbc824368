// The value of an input from the parts of form data with its name. Parts for bytes and strings are elements as they come. Any other
// input, and any part of type application/json, is read as JSON.

import { invalidArg, TritonError } from '../../errors.js';
import type { CompleteTensorSpec } from '../../model/complete-model-config.js';
import { type PacedWork, PAUSE_BYTES } from '../../pacing/paced-work.js';
import { isBytesDtype } from '../../tensor/dtype.js';
import { JsonParser } from '../json/json-parser.js';
import { VALUE } from '../json/json-shape.js';
import { type PlainValue, whatOf } from './plain-input.js';

/** One part of form data. Its content is a view of the body. */
export interface GivenPart {
  readonly content: Buffer;
  /** Its media type in lower case; '' without one. */
  readonly type: string;
  readonly isFile: boolean;
  /** A field for a file in which nobody has chosen one. */
  readonly isEmptyFile: boolean;
}

/** Undefined where a form was sent with an optional field left empty. Throws INVALID_ARG. */
export function* valueOfParts(
  parts: readonly GivenPart[],
  input: CompleteTensorSpec,
): PacedWork<PlainValue | undefined> {
  const [first] = parts;
  const isJson = !isBytesDtype(input.dtype) || parts.some(({ type }) => type === 'application/json');
  if (input.optional && parts.length === 1 && isLeftEmpty(first!, isJson)) return undefined;
  if (!isJson) return { kind: 'elements', elements: parts.map(({ content }) => content) };
  if (parts.length > 1) throw invalidArg(`part '${input.name}' is given ${parts.length} times, expected one with JSON`);
  return yield* jsonOf(first!, input);
}

function isLeftEmpty({ content, isEmptyFile }: GivenPart, isJson: boolean): boolean {
  return content.length === 0 && (isEmptyFile || isJson);
}

function* jsonOf({ content }: GivenPart, input: CompleteTensorSpec): PacedWork<PlainValue> {
  // The text of a single value has to begin and end with it.
  const bytes = trimmed(content);
  try {
    const parser = new JsonParser(bytes, {}, VALUE);
    while (!parser.advance(PAUSE_BYTES)) yield;
    return { kind: 'json', value: parser.value, text: { bytes, start: 0, end: bytes.length } };
  } catch (error) {
    throw invalidArg(`part '${input.name}' must be JSON for the ${whatOf(input)}: ${TritonError.from(error).message}`);
  }
}

function trimmed(content: Buffer): Buffer {
  let start = 0;
  let end = content.length;
  while (start < end && content[start]! <= 0x20) start++;
  while (start < end && content[end - 1]! <= 0x20) end--;
  return content.subarray(start, end);
}
