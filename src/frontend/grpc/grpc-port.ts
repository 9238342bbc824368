// The port that gRPC calls come to: HTTP/2 with the limits of gRPC. The caller passes in the listener. This module and all above
// it know connections and streams by their contracts only.

import type { ConnectionOptions } from '../../http2/connection-options.js';
import type { Http2Port, Http2PortOptions, OpenHttp2Port } from '../../http2/http2-port.js';
import { cutOffLines } from '../cut-off-lines.js';
import { TritonError } from '../../errors.js';
import type { PortTls } from '../port-tls.js';
import { GrpcConnection, type GrpcConnectionOptions } from './grpc-connection.js';

const CONNECTION: ConnectionOptions = {
  // Larger than the 16 kB that HTTP/2 begins with: fewer frames for large tensors.
  maxFrameSize: 1 << 20,
  // Answers of any size may wait for their readers; streams are held back where they are produced.
  maxQueuedBytes: Infinity,
  // The same as for HTTP requests; gRPC's own library waits twice as long.
  handshakeTimeout: 60_000,
  // Clients connect again when they need to. Keepalive, which ends connections of clients that are gone, waits as long.
  idleTimeout: 7_200_000,
};
/**
 * Wide, because data is nearly always read at once, and the size limit of messages bounds what one call may send. Narrower where
 * the largest request is small, because bytes that wait in windows count.
 */
const STREAM_WINDOW = 16 << 20;
const CONNECTION_WINDOW = 256 << 20;
const STREAM_PART_OF_LARGEST = 8;
const LEAST_WINDOW = 65_535;
/** How long answers may take to reach their clients when everything closes. */
export const FLUSH_MILLISECONDS = 1000;

export interface GrpcPortOptions extends GrpcConnectionOptions {
  readonly open: OpenHttp2Port;
  /** Default: no TLS. */
  readonly tls?: PortTls | undefined;
  /** Limits what the server holds for clients. Default: no limit. */
  readonly budget?: Http2PortOptions['budget'];
  /** Shared with other ports. Default: any number of connections. */
  readonly limit?: Http2PortOptions['limit'];
}

/** Makes a port that does not listen yet. */
export function openGrpcPort({ open, tls, budget, limit, ...connections }: GrpcPortOptions): Http2Port {
  const { logger } = connections;
  return open({
    connection: { ...CONNECTION, ...windows(budget?.largestRequest ?? Infinity) },
    tls,
    budget,
    limit,
    listen: (connection) => new GrpcConnection(connection, connections),
    onHandshakeError: (error) => logger.verbose(1, `gRPC handshake failed: ${error.message}`),
    onError: (error) => logger.error(`gRPC listener failed: ${error.message}`),
    onCutOff: (cutOff) => {
      for (const line of cutOffLines('gRPC', cutOff)) logger.warn(line);
    },
  });
}

/** Listens at a Unix socket too. Rejects with UNAVAILABLE when the path cannot be used. */
export async function listenAtPath(port: Http2Port, path: string): Promise<void> {
  try {
    await port.listenToo(path);
  } catch (error) {
    const { message } = TritonError.from(error);
    throw new TritonError('UNAVAILABLE', `cannot listen at the remoteSocket ${path}: ${message}`, { cause: error });
  }
}

function windows(largestRequest: number): Pick<ConnectionOptions, 'streamWindow' | 'connectionWindow'> {
  const within = (most: number, part: number) =>
    Math.max(LEAST_WINDOW, Math.min(most, Math.floor(largestRequest / part)));
  return {
    streamWindow: within(STREAM_WINDOW, STREAM_PART_OF_LARGEST),
    connectionWindow: within(CONNECTION_WINDOW, 1),
  };
}
