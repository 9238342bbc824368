// Cross-origin requests (the Fetch standard's CORS protocol): which pages of other origins a browser lets read our
// answers. Off unless the operator names origins; then every answer says so, and preflights are answered here.

import type { HttpRequest } from '../../http1/http-exchange.js';

/** What scripts may read of an answer beside what they always may. */
const EXPOSED = 'Inference-Header-Content-Length, Content-Encoding';
/** How long a browser may go by a preflight's answer, in seconds; the most that any of them honours is a day. */
const MAX_AGE = '86400';

export class CorsPolicy {
  readonly #any: boolean;
  readonly #origins: ReadonlySet<string>;

  /** `origins` as browsers spell them (`https://example.org`), or `*` for all. */
  constructor(origins: readonly string[]) {
    this.#any = origins.includes('*');
    this.#origins = new Set(origins);
  }

  /** What every answer to a request from `origin` has to have, a flat list of names and values. */
  answerHeaders(origin: string | undefined): readonly string[] {
    if (this.#any) return ['Access-Control-Allow-Origin', '*', 'Access-Control-Expose-Headers', EXPOSED];
    // Without the others, a cache could give one origin's answer to another.
    const vary = ['Vary', 'Origin'];
    if (origin === undefined || !this.#origins.has(origin)) return vary;
    return ['Access-Control-Allow-Origin', origin, 'Access-Control-Expose-Headers', EXPOSED, ...vary];
  }

  /** What the answer to a preflight has beside {@link answerHeaders}; `requested` is what the page wants to send. */
  preflightHeaders(methods: readonly string[], requested: string | undefined): readonly string[] {
    return [
      'Access-Control-Allow-Methods',
      methods.join(', '),
      // The names of restricted and forwarded headers are the operator's choice, so whatever is asked for is allowed.
      ...(requested === undefined ? [] : ['Access-Control-Allow-Headers', requested]),
      'Access-Control-Max-Age',
      MAX_AGE,
      'Vary',
      'Access-Control-Request-Method, Access-Control-Request-Headers',
    ];
  }
}

/** A preflight, and no other OPTIONS. */
export function isPreflight(request: Pick<HttpRequest, 'method' | 'header'>): boolean {
  return (
    request.method === 'OPTIONS' &&
    request.header('origin') !== undefined &&
    request.header('access-control-request-method') !== undefined
  );
}
