import { describe, expect, it } from 'vitest';

import { FakeRequest } from '../../../test/support/fake-exchange.js';
import { contentTypeFraming, HEADER_FRAMING } from './binary-framing.js';

const withHeaders = (headers: Readonly<Record<string, string>>) => new FakeRequest('POST', '/', { headers });

describe('the length of the JSON of a binary message', () => {
  it('is in a header of its own', () => {
    expect(HEADER_FRAMING.headerLength(withHeaders({ 'inference-header-content-length': '12' }))).toBe('12');
    expect(HEADER_FRAMING.headerLength(withHeaders({}))).toBeUndefined();
    expect(HEADER_FRAMING.answerHeaders(12)).toEqual([
      'Content-Type',
      'application/octet-stream',
      'Inference-Header-Content-Length',
      '12',
    ]);
  });

  it('or in the content type', () => {
    const framing = contentTypeFraming('application/x;size=');
    expect(framing.headerLength(withHeaders({ 'content-type': 'application/x;size=12' }))).toBe('12');
    expect(framing.headerLength(withHeaders({ 'content-type': 'application/json' }))).toBeUndefined();
    expect(framing.headerLength(withHeaders({}))).toBeUndefined();
    expect(framing.answerHeaders(12)).toEqual(['Content-Type', 'application/x;size=12']);
    expect(() => framing.headerLength(withHeaders({ 'content-type': 'a, application/x;size=12' }))).toThrow(
      "expect MIME type for binary data starts with 'application/x;size=', got: a, application/x;size=12",
    );
  });
});
