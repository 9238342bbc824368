// Checks the certificates and the key that a client is given.

import { invalidArg } from '../errors.js';
import type { ClientTlsOptions } from './client-options.js';

/** Throws INVALID_ARG for a path: Node ignores a `ca` that is no certificate, and connections would fail for want of it. */
export function expectPem(tls: ClientTlsOptions): void {
  for (const [name, text] of Object.entries(tls) as [string, unknown][]) {
    if (typeof text === 'string' && !text.includes('-----BEGIN')) {
      throw invalidArg(
        `options.tls.${name} must be the text of a PEM file, not its path: readFileSync(path, 'utf8') reads it`,
      );
    }
  }
}
