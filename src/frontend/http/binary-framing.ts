// Where the JSON of a message with binary tensors ends. A header of its own gives its length. Some platforms pass no such header
// on; there the content type gives the length.

import { invalidArg } from '../../errors.js';
import type { HttpRequest } from '../../http1/http-exchange.js';

export interface BinaryFraming {
  /** The length as the request gives it; undefined for a request of JSON only. Throws INVALID_ARG. */
  headerLength(request: Pick<HttpRequest, 'header'>): string | undefined;
  /** The headers of an answer with `length` bytes of JSON, a flat list of names and values. */
  answerHeaders(length: number): readonly string[];
}

export const HEADER_FRAMING: BinaryFraming = {
  headerLength: (request) => request.header('inference-header-content-length'),
  answerHeaders: (length) => [
    'Content-Type',
    'application/octet-stream',
    'Inference-Header-Content-Length',
    String(length),
  ],
};

/** `prefix` is the part of the content type before the length. */
export function contentTypeFraming(prefix: string): BinaryFraming {
  return {
    headerLength(request) {
      const contentType = request.header('content-type') ?? '';
      const position = contentType.indexOf(prefix);
      if (position < 0) return undefined;
      if (position === 0) return contentType.slice(prefix.length);
      throw invalidArg(`expect MIME type for binary data starts with '${prefix}', got: ${contentType}`);
    },
    answerHeaders: (length) => ['Content-Type', `${prefix}${length}`],
  };
}
