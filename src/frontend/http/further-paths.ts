// Further paths than Triton's protocol has, on the same port and behind the same checks of hosts and origins.

import type { HttpRequest, ServeRequest } from '../../http1/http-exchange.js';
import type { CorsPolicy } from './cors.js';

export interface FurtherPaths {
  /** Returns undefined for a path that is not among them. `cors`: undefined where no origin may read answers. */
  handler(request: HttpRequest, cors: CorsPolicy | undefined): ServeRequest | undefined;
}
