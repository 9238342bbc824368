// Checks the certificates of a client when it is made. Node would refuse some at each connection, and pass over an authority that is
// none: then it trusts nobody.

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';

import { checkMembers } from '../checks/check.js';
import { TritonError } from '../errors.js';
import type { ClientTls, ClientTlsOptions } from './client-options.js';

const MEMBERS = ['ca', 'cert', 'key'];

/** Throws INVALID_ARG. `owner`: whose options they are. A function is not called yet. */
export function checkTls(tls: ClientTls, owner: string): void {
  if (typeof tls !== 'function') checkOptions(tls, (option) => `options.tls${option} of ${owner}`);
}

/** Throws INVALID_ARG. `nameOf` names an option, or with '' all of them. */
export function checkOptions(tls: ClientTlsOptions, nameOf: (option: string) => string): void {
  checkMembers(tls, MEMBERS, nameOf(''));
  const { ca, cert, key } = tls;
  const invalid = (option: string, expected: string, got: string, cause?: unknown): TritonError => {
    const message = `${nameOf(option)}: expected ${expected}, got: ${got}`;
    return new TritonError('INVALID_ARG', message, { cause });
  };
  const check = (option: 'ca' | 'cert' | 'key', given: unknown, expected: string, parse: () => unknown): void => {
    try {
      parse();
    } catch (error) {
      const got = isPath(given) ? PATH : TritonError.from(error).message;
      throw invalid(`.${option}`, expected, got, error);
    }
  };
  if (ca !== undefined) check('ca', ca, 'certificates in PEM form', () => new X509Certificate(ca));
  if ((cert === undefined) !== (key === undefined)) {
    throw invalid('', 'cert and key together', `only ${cert === undefined ? 'key' : 'cert'}`);
  }
  if (cert === undefined || key === undefined) return;
  check('cert', cert, 'a certificate in PEM form', () => new X509Certificate(cert));
  check('key', key, 'an unencrypted private key in PEM form', () => createPrivateKey(key));
  check('key', key, 'the key of the certificate', () => createSecureContext({ cert, key }));
}

const PATH = "what may be its path: readFileSync(path, 'utf8') reads the file";

function isPath(given: unknown): boolean {
  return typeof given === 'string' && !given.includes('-----BEGIN');
}
