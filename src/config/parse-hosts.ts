// Reads `allowedHosts`: the names by which the server may be asked.

import { invalidArg } from '../errors.js';

/** Names as browsers spell them, each perhaps with a dot before it. Throws INVALID_ARG for what no browser would ever send. */
export function parseHosts(given: readonly string[], option: string): readonly string[] {
  return [...new Set(given.map((host) => parseHost(host, option)))];
}

function parseHost(host: string, option: string): string {
  const [, dot = '', name = ''] = /^(\.?)([^.:/?#@\\[\]*\s][^:/?#@\\[\]*\s]*)$/.exec(host) ?? [];
  if (name === '' || !URL.canParse(`http://${name}/`)) {
    throw invalidArg(
      `${option} must be names such as 'example.org', or '.example.org' with all names in it, got ${JSON.stringify(host)}`,
    );
  }
  // International names are sent in ASCII, and the dot at the end is left out.
  return dot + new URL(`http://${name}/`).hostname.replace(/\.$/, '');
}
