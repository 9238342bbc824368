// Checks the certificates of a client when it is made. Node would refuse some at each connection, and pass over an authority that is
// none: then it trusts nobody.

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';

import { TritonError } from '../errors.js';
import type { ClientTlsOptions } from './client-options.js';

/** Throws INVALID_ARG. */
export function checkTls({ ca, cert, key }: ClientTlsOptions): void {
  if (ca !== undefined) check('.ca', 'certificates in PEM form', () => new X509Certificate(ca));
  if ((cert === undefined) !== (key === undefined)) {
    throw invalid('', 'cert and key together', `only ${cert === undefined ? 'key' : 'cert'}`);
  }
  if (cert === undefined || key === undefined) return;
  check('.cert', 'a certificate in PEM form', () => new X509Certificate(cert));
  check('.key', 'an unencrypted private key in PEM form', () => createPrivateKey(key));
  check('.key', 'the key of the certificate', () => createSecureContext({ cert, key }));
}

function check(option: string, expected: string, parse: () => unknown): void {
  try {
    parse();
  } catch (error) {
    throw invalid(option, expected, TritonError.from(error).message, error);
  }
}

function invalid(option: string, expected: string, got: string, cause?: unknown): TritonError {
  const message = `options.tls${option} of a client: expected ${expected}, got: ${got}`;
  return new TritonError('INVALID_ARG', message, { cause });
}
