// Checks the `route` of a declaration: the path under which a model answers plain JSON, beside the protocol's own paths.

import { invalidArg } from '../errors.js';
import { textOf } from '../checks/check.js';

/** Segments of unreserved characters (RFC 3986, section 2.3). Paths are compared as they come, so nothing is percent-encoded. */
const ROUTE = /^POST (\/|(?:\/[A-Za-z0-9._~-]+)+)$/;
/** Paths of the server itself. */
const RESERVED =
  /^\/(?:v2|openapi\.json|v1\/(?:models|chat\/completions|completions|embeddings|audio\/transcriptions))(?:\/|$)/;

/** Returns the path. Throws INVALID_ARG. `what` names the route in messages. */
export function parseRoute(route: unknown, what: string): string {
  const path = typeof route === 'string' ? ROUTE.exec(route)?.[1] : undefined;
  if (path === undefined || path.split('/').some((segment) => segment === '.' || segment === '..')) {
    throw invalidArg(
      `${what} must be 'POST' and a path of letters, digits, dots, underscores, tildes and dashes, like 'POST /predict', got ${textOf(route)}`,
    );
  }
  if (RESERVED.test(path)) {
    throw invalidArg(
      `${what} must not be a path of the server itself (/v2/…, /openapi.json, those of the OpenAI API), got ${textOf(route)}`,
    );
  }
  return path;
}
