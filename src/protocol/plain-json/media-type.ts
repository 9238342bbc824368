// Reads a Content-Type (RFC 9110, section 8.3): what a body is, and the boundary of its parts.

import { lowerCase, trimBlanks } from '../../ascii.js';
import { invalidArg } from '../../errors.js';

export interface BodyType {
  /** In lower case, without parameters. */
  readonly text: string;
  readonly isJson: boolean;
  /** Of `multipart/form-data`; undefined for other types. */
  readonly boundary: string | undefined;
}

export const URL_ENCODED = 'application/x-www-form-urlencoded';
/** What `curl -d` and `fetch` say of any text that they are not told the type of. */
const UNTOLD_TYPES: ReadonlySet<string> = new Set([URL_ENCODED, 'text/plain']);
const JSON_TYPE: BodyType = { text: 'application/json', isJson: true, boundary: undefined };
const FORM_DATA = 'multipart/form-data';
const BOUNDARY = /;[ \t]*boundary=(?:"([^"\\]{1,70})"|([^"; \t]{1,70}))[ \t]*(?:;|$)/i;

/** A body without a type is JSON. Throws INVALID_ARG for form data without a boundary, which nobody could read. */
export function bodyType(contentType: string | undefined): BodyType {
  if (contentType === undefined || contentType === '') return JSON_TYPE;
  const [first = ''] = contentType.split(';', 1);
  const text = lowerCase(trimBlanks(first));
  if (text !== FORM_DATA) {
    const isJson = text === 'application/json' || text.endsWith('+json') || UNTOLD_TYPES.has(text);
    return { text, isJson, boundary: undefined };
  }
  const match = BOUNDARY.exec(contentType);
  const boundary = match?.[1] ?? match?.[2];
  if (boundary === undefined)
    throw invalidArg(`the Content-Type of form data must have a boundary, got '${contentType}'`);
  return { text, isJson: false, boundary };
}
