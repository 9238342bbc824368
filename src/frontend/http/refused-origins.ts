// Tells the operator which pages of other origins may not read answers. A browser hides the reason from the page, and nobody else
// sees it.

import type { HttpRequest } from '../../http1/http-exchange.js';
import type { Logger } from '../../observability/logger.js';

/** The most origins that are named: requests may claim any. */
const MOST_ORIGINS = 100;
const LONGEST_ORIGIN = 200;

export class RefusedOrigins {
  readonly #logger: Pick<Logger, 'warn'>;
  readonly #named = new Set<string>();

  constructor(logger: Pick<Logger, 'warn'>) {
    this.#logger = logger;
  }

  /** Logs the first request of each origin. `allowed`: whether a page of this origin may read answers. */
  notice(request: Pick<HttpRequest, 'header'>, allowed?: (origin: string) => boolean): void {
    const origin = request.header('origin');
    if (origin === undefined || this.#named.has(origin) || this.#named.size >= MOST_ORIGINS) return;
    if (origin.length > LONGEST_ORIGIN || allowed?.(origin) === true) return;
    // Browsers send the header with a page's own requests too, but for GET and HEAD.
    if (origin.replace(/^https?:\/\//, '') === request.header('host')) return;
    this.#named.add(origin);
    this.#logger.warn(
      `a browser asked for a page of '${origin}', which may not read answers: corsAllowOrigin does not list this origin`,
    );
  }
}
