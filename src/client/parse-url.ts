// Reads from the user's URL where a client connects to. Parts that the client does not know are refused, never dropped:
// a URL that silently means another place is worse than an error.

import { lowerCase } from '../ascii.js';
import { TritonError } from '../errors.js';
import { isUnicode } from './option-values.js';

export interface ServerUrl {
  readonly protocol: 'http' | 'grpc';
  readonly tls: boolean;
  /** A host name or address; IPv6 without its brackets. */
  readonly host: string;
  readonly port: number;
  /** The part before `/v2/…` in HTTP paths: '' or `/…` without a slash at the end. */
  readonly pathPrefix: string;
  /** Scheme, host, port and prefix, for error messages. */
  readonly address: string;
  /** The path of a Unix socket in place of host and port. */
  readonly socketPath?: string;
}

const SCHEMES = {
  http: { protocol: 'http', tls: false, port: 8000 },
  https: { protocol: 'http', tls: true, port: 8000 },
  grpc: { protocol: 'grpc', tls: false, port: 8001 },
  grpcs: { protocol: 'grpc', tls: true, port: 8001 },
} as const;

const FORM = /^(?:([a-z][a-z0-9+.-]*):\/\/)?(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]+))?(\/[^\s?#]*)?$/i;

/** Throws INVALID_ARG with the value it got and a description of a valid one. */
export function parseUrl(url: unknown): ServerUrl {
  if (typeof url !== 'string')
    throw new TritonError('INVALID_ARG', `url of a client must be a string, got ${url === null ? 'null' : typeof url}`);
  const [, scheme = 'http', bracketedHost = '', portText, path = ''] = FORM.exec(url) ?? [];
  if (bracketedHost === '') throw invalid(url, 'expected [scheme://]host[:port][/path]');
  const known = Object.entries(SCHEMES).find(([name]) => name === lowerCase(scheme))?.[1];
  if (known === undefined)
    throw invalid(url, `expected one of the schemes ${Object.keys(SCHEMES).join(', ')}, got ${scheme}`);
  const host = lowerCase(bracketedHost.replace(/^\[|\]$/g, ''));
  if (host !== lowerCase(bracketedHost) && !isIPv6(host))
    throw invalid(url, `expected an IPv6 address in the brackets, got ${host}`);
  const port = portText === undefined ? known.port : Number(portText);
  if (port < 1 || port > 65_535) throw invalid(url, `expected a port from 1 to 65535, got ${portText}`);
  const pathPrefix = path.replace(/\/+$/, '');
  if (!isUnicode(pathPrefix)) throw invalid(url, 'expected a path of whole characters');
  if (known.protocol === 'grpc' && pathPrefix !== '') throw invalid(url, `gRPC has no paths, got ${path}`);
  const address = `${lowerCase(scheme)}://${lowerCase(bracketedHost)}:${port}${pathPrefix}`;
  return { protocol: known.protocol, tls: known.tls, host, port, pathPrefix, address };
}

/** Whether the host is an IPv6 address. Asks `new URL`, which is everywhere: `node:net` is only in Node. */
function isIPv6(host: string): boolean {
  try {
    return new URL(`http://[${host}]/`).hostname !== '';
  } catch {
    return false;
  }
}

function invalid(url: string, reason: string): TritonError {
  // Credentials do not belong in a URL here, and even less in an error message.
  const shown = url.replace(/\/\/[^/@]*@/, '//***@');
  return new TritonError(
    'INVALID_ARG',
    `invalid url ${JSON.stringify(shown)} of a client: ${reason}; examples: localhost:8000, grpc://host:8001, https://[::1]/path`,
  );
}
