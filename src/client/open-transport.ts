// Which transport a URL asks for.

import { TritonError } from '../errors.js';
import { checkTls } from './check-tls.js';
import type { TransportOptions } from './client-options.js';
import { GrpcTransport } from './grpc/grpc-transport.js';
import { Http1Wire } from './http/http1-wire.js';
import { HttpTransport } from './http/http-transport.js';
import type { ServerUrl } from './parse-url.js';
import type { Transport } from './transport.js';

/** Throws INVALID_ARG for certificates that are none, and where none are used. */
export function openTransport(server: ServerUrl, options: TransportOptions): Transport {
  if (options.tls !== undefined && !server.tls) {
    throw new TritonError('INVALID_ARG', `options.tls of a client needs https:// or grpcs://, got ${server.address}`);
  }
  if (options.tls !== undefined) checkTls(options.tls, 'a client');
  if (server.protocol === 'grpc') return new GrpcTransport(server, options);
  return new HttpTransport(new Http1Wire(server, options), options);
}
