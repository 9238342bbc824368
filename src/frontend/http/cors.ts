// Cross-origin requests (the Fetch standard's CORS protocol): which pages of other origins may read our answers in a browser.
// CORS is off unless the operator names origins. Then every answer carries its headers, and this module answers preflights.

import type { HttpRequest } from '../../http1/http-exchange.js';

/** Headers that scripts may read, besides the headers that every browser lets them read. */
const EXPOSED = 'Inference-Header-Content-Length, Content-Encoding';
/** How long a browser may use a preflight's answer, in seconds. No browser honours more than a day. */
const MAX_AGE = '86400';

export class CorsPolicy {
  readonly #any: boolean;
  readonly #origins: ReadonlySet<string>;

  /** `origins` as browsers spell them (`https://example.org`), or `*` for all. */
  constructor(origins: readonly string[]) {
    this.#any = origins.includes('*');
    this.#origins = new Set(origins);
  }

  allows(origin: string): boolean {
    return this.#any || this.#origins.has(origin);
  }

  /** The headers that every answer to a request from `origin` needs, a flat list of names and values. */
  answerHeaders(origin: string | undefined): readonly string[] {
    if (this.#any) return ['Access-Control-Allow-Origin', '*', 'Access-Control-Expose-Headers', EXPOSED];
    // Without this header, a cache could give one origin's answer to another origin.
    const vary = ['Vary', 'Origin'];
    if (origin === undefined || !this.#origins.has(origin)) return vary;
    return ['Access-Control-Allow-Origin', origin, 'Access-Control-Expose-Headers', EXPOSED, ...vary];
  }

  /** The headers of a preflight's answer, in addition to {@link answerHeaders}. `requested`: the headers that the page wants to send. */
  preflightHeaders(methods: readonly string[], requested: string | undefined): readonly string[] {
    return [
      'Access-Control-Allow-Methods',
      methods.join(', '),
      // The operator chooses the names of restricted and forwarded headers, so every requested name is allowed.
      ...(requested === undefined ? [] : ['Access-Control-Allow-Headers', requested]),
      'Access-Control-Max-Age',
      MAX_AGE,
      'Vary',
      'Access-Control-Request-Method, Access-Control-Request-Headers',
    ];
  }
}

/** Tells preflights from other OPTIONS requests. */
export function isPreflight(request: Pick<HttpRequest, 'method' | 'header'>): boolean {
  return (
    request.method === 'OPTIONS' &&
    request.header('origin') !== undefined &&
    request.header('access-control-request-method') !== undefined
  );
}
