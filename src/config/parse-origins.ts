// Reads `corsAllowOrigin`: which pages of other origins may call the server from a browser.

import { invalidArg } from '../errors.js';

/** Origins as browsers spell them, or `*` alone. Throws INVALID_ARG for what no browser would ever send. */
export function parseOrigins(given: readonly string[], option: string): readonly string[] {
  const origins = given.map((origin) => parseOrigin(origin, option));
  return origins.includes('*') ? ['*'] : [...new Set(origins)];
}

function parseOrigin(origin: string, option: string): string {
  if (origin === '*' || origin === 'null') return origin;
  const match = /^([a-z][a-z0-9+.-]*):\/\/([^/?#@*\s]+)$/i.exec(origin);
  const isWeb = /^https?:/i.test(origin);
  if (match === null || (isWeb && !URL.canParse(origin))) {
    throw invalidArg(`${option} must be '*' or origins such as 'https://example.org', got ${JSON.stringify(origin)}`);
  }
  const [, scheme = '', authority = ''] = match;
  // Browsers leave out the usual port and write the name in lower case, international ones in ASCII.
  return isWeb ? new URL(origin).origin : `${scheme.toLowerCase()}://${authority.toLowerCase()}`;
}
