// The certificate, the key and the root certificates of a port, read from files when the server starts. So a mistake in them
// fails the start, and not each handshake. `tls-renewal.ts` reads them again.

import { X509Certificate, createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';

import { TritonError } from '../errors.js';

/** Ports that may have TLS, by the prefixes of their options. */
export type SecurePort = 'http' | 'grpc';

/** Paths of PEM files. */
export interface TlsFiles {
  /** The port whose options these are. */
  readonly port: SecurePort;
  readonly serverCert: string;
  readonly serverKey: string;
  /** The roots of certificates that clients may show. Default: the roots that Node.js knows. */
  readonly rootCert: string | undefined;
  /** Whether clients have to show a certificate. */
  readonly mutual: boolean;
}

/** The PEM texts that the port serves TLS with. They fit together. */
export interface PortTls {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca: Buffer | undefined;
  /** Clients without a certificate of these roots are turned away. */
  readonly requestCert: boolean;
  readonly rejectUnauthorized: boolean;
}

/** Throws INVALID_ARG that names the option, the unusable file and the reason. */
export function readPortTls({ port, serverCert, serverKey, rootCert, mutual }: TlsFiles): PortTls {
  const cert = readPem(`${port}ServerCert`, serverCert);
  const key = readPem(`${port}ServerKey`, serverKey);
  const ca = rootCert === undefined ? undefined : readPem(`${port}RootCert`, rootCert);
  check(`${port}ServerCert`, serverCert, 'a certificate', () => new X509Certificate(cert));
  check(`${port}ServerKey`, serverKey, 'an unencrypted private key', () => createPrivateKey(key));
  if (ca !== undefined) check(`${port}RootCert`, rootCert!, 'certificates', () => new X509Certificate(ca));
  check(`${port}ServerKey`, serverKey, `the key of the certificate ${serverCert}`, () =>
    createSecureContext({ cert, key, ca }),
  );
  return { cert, key, ca, requestCert: mutual, rejectUnauthorized: mutual };
}

function readPem(option: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new TritonError('INVALID_ARG', `${option}: cannot read ${path}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function check(option: string, path: string, expected: string, parse: () => unknown): void {
  try {
    parse();
  } catch (error) {
    throw new TritonError(
      'INVALID_ARG',
      `${option}: expected ${expected} in PEM form in ${path}, got: ${(error as Error).message}`,
      {
        cause: error,
      },
    );
  }
}
