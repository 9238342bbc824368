// Checks the certificates of a client: when it is made, and those of a function before each connection. Node would refuse some at
// each connection, and pass over an authority that is none: then it trusts nobody.

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';

import { checkMembers } from '../checks/check.js';
import { TritonError } from '../errors.js';
import type { ClientTls, ClientTlsOptions } from './client-options.js';
import { unprocessedError } from './connection-error.js';

const MEMBERS = ['ca', 'cert', 'key'];

/** Throws INVALID_ARG. `owner`: whose options they are. A function is not called yet: what it gives is checked for each connection. */
export function checkTls(tls: ClientTls, owner: string): void {
  if (typeof tls !== 'function') checkOptions(tls, (option) => `options.tls${option} of ${owner}`);
}

/**
 * Gives the options of each connection to `address`, which are the same object as long as they have the same texts. Throws UNAVAILABLE
 * for a function that fails, or gives what cannot be used: the next attempt asks it again.
 */
export function connectionTls(tls: ClientTls, address: string): () => ClientTlsOptions {
  if (typeof tls !== 'function') {
    const fixed = { ...tls };
    return () => fixed;
  }
  let last: ClientTlsOptions = {};
  return () => {
    try {
      const given = asked(tls);
      if (isDeepStrictEqual(given, last)) return last;
      checkOptions(given, (option) => `options.tls()${option}`);
      return (last = { ...given });
    } catch (error) {
      throw unprocessedError(TritonError.from(error).message, address, error);
    }
  };
}

function asked(tls: () => ClientTlsOptions): ClientTlsOptions {
  try {
    return tls();
  } catch (error) {
    throw new TritonError('UNAVAILABLE', `options.tls(): ${TritonError.from(error).message}`, { cause: error });
  }
}

function checkOptions(tls: ClientTlsOptions, nameOf: (option: string) => string): void {
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
