// The certificates of each connection: those of the client's options, or what a function gives at the moment, for they may be renewed.

import { isDeepStrictEqual } from 'node:util';

import { TritonError } from '../errors.js';
import { checkOptions } from './check-tls.js';
import type { ClientTls, ClientTlsOptions } from './client-options.js';
import { unprocessedError } from './connection-error.js';

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
