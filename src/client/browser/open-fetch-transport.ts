// Which transport a URL asks for where there is no Node: the build of the client for browsers has this in the place of
// `open-transport.ts`.

import { TritonError } from '../../errors.js';
import type { TransportOptions } from '../client-options.js';
import { FetchWire } from './fetch-wire.js';
import { HttpTransport } from '../http/http-transport.js';
import type { ServerUrl } from '../parse-url.js';
import type { Transport } from '../transport.js';

/** Throws UNSUPPORTED for what only Node can do. */
export function openTransport(server: ServerUrl, options: TransportOptions): Transport {
  if (server.protocol === 'grpc') {
    throw new TritonError(
      'UNSUPPORTED',
      `${server.address}: fetch cannot carry gRPC; use the server's HTTP port, http:// or https://`,
    );
  }
  if (options.tls !== undefined) {
    throw new TritonError('UNSUPPORTED', "options.tls: certificates are the browser's own business");
  }
  return new HttpTransport(new FetchWire(server, options.maxResponseBytes), options);
}
