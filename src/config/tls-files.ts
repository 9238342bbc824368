// What the options of TLS come to, for each port that may have it.

import { TritonError } from '../errors.js';
import type { SecurePort, TlsFiles } from '../frontend/port-tls.js';

/** The options, complete with their defaults. */
export type TlsOptions = {
  readonly [K in `${SecurePort}${'UseSsl' | 'UseSslMutual'}`]: boolean;
} & {
  readonly [K in `${SecurePort}${'ServerCert' | 'ServerKey' | 'RootCert'}`]: string | undefined;
};

/** Undefined: no TLS. Throws INVALID_ARG for options that do not go together. */
export function tlsFiles(options: TlsOptions, port: SecurePort): TlsFiles | undefined {
  const serverCert = options[`${port}ServerCert`];
  const serverKey = options[`${port}ServerKey`];
  const rootCert = options[`${port}RootCert`];
  const mutual = options[`${port}UseSslMutual`];
  // As in Triton, mutual TLS is TLS whatever the other option says.
  if (!options[`${port}UseSsl`] && !mutual) {
    const unused = Object.entries({ ServerCert: serverCert, ServerKey: serverKey, RootCert: rootCert });
    const given = unused.find(([, path]) => path !== undefined);
    if (given === undefined) return undefined;
    throw new TritonError('INVALID_ARG', `${port}${given[0]} needs ${port}UseSsl: true, got false`);
  }
  const option = `${port}${mutual ? 'UseSslMutual' : 'UseSsl'}`;
  if (serverCert === undefined || serverKey === undefined) {
    const missing = serverCert === undefined ? 'ServerCert' : 'ServerKey';
    throw new TritonError('INVALID_ARG', `${option} needs ${port}${missing}, the path of a PEM file`);
  }
  if (mutual && rootCert === undefined) {
    throw new TritonError('INVALID_ARG', `${option} needs ${port}RootCert, the path of a PEM file`);
  }
  return { port, serverCert, serverKey, rootCert, mutual };
}
