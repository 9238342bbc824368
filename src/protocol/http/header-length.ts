// The header Inference-Header-Content-Length: where the JSON of a message ends and its binary tensors begin.

import { listElements } from '../../ascii.js';
import { invalidArg } from '../../errors.js';

/**
 * Length of the JSON part; without the header, of the whole body. Throws INVALID_ARG in Triton's words. Triton reads a number's
 * beginning. This is stricter: it refuses anything but digits.
 */
export function parseHeaderLength(header: string | undefined, bodyLength: number): number {
  if (header === undefined) return bodyLength;
  const length = /^-?\d+$/.test(header) ? Number(header) : sameInEveryField(header);
  if (length === undefined) {
    throw invalidArg(`Unable to parse Inference-Header-Content-Length, got: ${header}`);
  }
  if (length < 0 || length > bodyLength) {
    throw invalidArg(`inference header size should be in range (0, ${bodyLength}), got: ${header}`);
  }
  return length;
}

// A header sent twice arrives as "93, 93". That is harmless when both agree, as for Content-Length.
function sameInEveryField(header: string): number | undefined {
  const fields = listElements(header);
  return /^\d+$/.test(fields[0]!) && fields.every((field) => field === fields[0]) ? Number(fields[0]) : undefined;
}
