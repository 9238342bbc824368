// Reads multipart/form-data (RFC 7578) from a body that is here as a whole. Parts are views of the body. It reads what browsers,
// curl, Node and Python send, and refuses the rest: a body that ends early, a part without a name, too many parts.

import { lowerCase, trimBlanks } from '../../ascii.js';
import { invalidArg, type TritonError } from '../../errors.js';
import { REQUEST_LIMITS } from '../../model/request-limits.js';
import { Pace, type PacedWork } from '../../pacing/paced-work.js';
import type { GivenPart } from './form-values.js';
import type { BodyType } from './media-type.js';

export interface FormDataType extends BodyType {
  readonly boundary: string;
}

export function isFormData(type: BodyType): type is FormDataType {
  return type.boundary !== undefined;
}

const LINE_END = '\r\n';
/** Bytes of the headers of one part. */
const MOST_HEADER_BYTES = 8192;
/** Reading a byte of headers costs as much as reading that many bytes. */
const COST_OF_HEADERS = 8;
/** Bytes searched at a time. */
const SEARCHED_BYTES = 1024 * 1024;

/** The parts by name, in order. Throws INVALID_ARG. */
export function* readFormData(
  body: Buffer,
  { boundary }: FormDataType,
): PacedWork<ReadonlyMap<string, readonly GivenPart[]>> {
  const parts = new Map<string, GivenPart[]>();
  const delimiter = Buffer.from(`${LINE_END}--${boundary}`, 'latin1');
  const pace = new Pace();
  let count = 0;
  let last = '';
  // The first delimiter has no line before it. A preamble is allowed by the grammar, and nobody sends one.
  let pos = delimiter.length - 2;
  if (!body.subarray(0, pos).equals(delimiter.subarray(2)))
    throw malformed(`it must begin with the boundary '--${boundary}'`);
  for (;;) {
    if (isAt(body, pos, '--')) return parts;
    // Blanks may follow a boundary (RFC 2046, section 5.1.1).
    while (body[pos] === 0x20 || body[pos] === 0x09) pos++;
    if (!isAt(body, pos, LINE_END))
      throw pos >= body.length ? endedEarly(last) : malformed(`a line end is missing after ${after(last)}`);
    if (++count > REQUEST_LIMITS.inputs) throw malformed(`it has more than ${REQUEST_LIMITS.inputs} parts`);
    const headersEnd = body.subarray(pos, pos + MOST_HEADER_BYTES).indexOf('\r\n\r\n');
    if (headersEnd < 0) {
      if (body.length - pos <= MOST_HEADER_BYTES) throw endedEarly(last);
      throw malformed(`the headers behind ${after(last)} have more than ${MOST_HEADER_BYTES} bytes`);
    }
    const part = readHeaders(body.toString('utf8', pos + 2, pos + headersEnd), last);
    last = part.name;
    if (pace.spend(headersEnd * COST_OF_HEADERS)) yield;
    const start = pos + headersEnd + 4;
    // An empty part has nothing between its headers and the delimiter, whose line end is then the headers' own.
    const end = yield* indexOf(body, delimiter, start - 2, pace);
    if (end < 0) throw endedEarly(last);
    const { name, ...rest } = part;
    const given: GivenPart = { ...rest, content: body.subarray(start, Math.max(start, end)) };
    const earlier = parts.get(name);
    if (earlier === undefined) parts.set(name, [given]);
    else earlier.push(given);
    pos = end + delimiter.length;
  }
}

/** The offset of `wanted` at or after `start`; -1 where it is not. */
function* indexOf(body: Buffer, wanted: Buffer, start: number, pace: Pace): PacedWork<number> {
  for (let from = start; from < body.length; from += SEARCHED_BYTES) {
    const found = body.subarray(from, from + SEARCHED_BYTES + wanted.length - 1).indexOf(wanted);
    if (found >= 0) return from + found;
    if (pace.spend(SEARCHED_BYTES >> 4)) yield;
  }
  return -1;
}

function isAt(body: Buffer, pos: number, text: string): boolean {
  return body.toString('latin1', pos, pos + text.length) === text;
}

interface PartHead extends Omit<GivenPart, 'content'> {
  readonly name: string;
}

// Older clients write a quote within quotes as \", newer ones as %22.
const DISPOSITION = /^form-data((?:;[ \t]*[a-z*-]+=(?:"(?:[^"\\]|\\.)*"|[^";]*))*);?$/i;
const PARAMETER = /;[ \t]*([a-z*-]+)=(?:"((?:[^"\\]|\\.)*)"|([^";]*))/gi;

function readHeaders(text: string, last: string): PartHead {
  let disposition: string | undefined;
  let type = '';
  for (const line of text.split(LINE_END)) {
    const colon = line.indexOf(':');
    if (colon <= 0) throw malformed(`a header behind ${after(last)} has no name`);
    const value = trimBlanks(line.slice(colon + 1));
    switch (lowerCase(line.slice(0, colon))) {
      case 'content-disposition':
        if (disposition !== undefined) throw malformed(`the part behind ${after(last)} has two Content-Dispositions`);
        disposition = value;
        break;
      case 'content-type':
        type = lowerCase(trimBlanks(value.split(';', 1)[0]!));
        break;
      case 'content-transfer-encoding':
        // RFC 7578 has done away with it; binary and 8bit change nothing.
        if (!/^(?:binary|8bit|7bit)$/i.test(value))
          throw malformed(`Content-Transfer-Encoding '${value}' is not supported`);
    }
  }
  const parameters = DISPOSITION.exec(disposition ?? '')?.[1];
  const found = new Map<string, string>();
  for (const [, key, quoted, plain] of (parameters ?? '').matchAll(PARAMETER)) {
    const name = lowerCase(key!);
    if (found.has(name)) throw malformed(`the part behind ${after(last)} has two parameters '${name}'`);
    found.set(name, unescaped(quoted ?? trimBlanks(plain!)));
  }
  const name = found.get('name');
  if (name === undefined || name === '') {
    throw malformed(`the part behind ${after(last)} must have a Content-Disposition of form-data with a name`);
  }
  return {
    name,
    isFile: found.has('filename') || found.has('filename*'),
    isEmptyFile: found.get('filename') === '',
    type,
  };
}

/** Browsers escape three characters of names (https://html.spec.whatwg.org/#multipart-form-data). */
const ESCAPED: Readonly<Record<string, string>> = {
  '%22': '"',
  '\\"': '"',
  '%0D': '\r',
  '%0A': '\n',
};

function unescaped(text: string): string {
  return text.replace(/%22|%0[DA]|\\"/g, (escape) => ESCAPED[escape]!);
}

function after(last: string): string {
  return last === '' ? 'the first boundary' : `part '${last}'`;
}

function endedEarly(last: string): TritonError {
  return malformed(last === '' ? 'it ends before its first part' : `it ends early, in or behind part '${last}'`);
}

function malformed(reason: string): TritonError {
  return invalidArg(`the form data is malformed: ${reason}`);
}
