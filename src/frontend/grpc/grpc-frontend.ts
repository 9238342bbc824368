// gRPC's frontend: methods on a port.

import type { Http2PortOptions, OpenHttp2Port } from '../../http2/http2-port.js';
import type { Logger } from '../../model/logger.js';
import { GRPC_STATUS } from '../../protocol/grpc/grpc-status.js';
import { ACCEPTED_ENCODINGS, type CompressionLevel, isKnownEncoding } from '../../protocol/grpc/message-compression.js';
import { HeaderForwarding } from '../../protocol/header-forwarding.js';
import type { AllowedHosts } from '../allowed-hosts.js';
import type { Frontend } from '../frontend.js';
import { readPortTls, type TlsFiles } from '../port-tls.js';
import { type Category, RestrictedFeatures, type Restriction } from '../restricted-features.js';
import type { ServedCore } from '../served-core.js';
import { DEFAULT_KEEPALIVE, type KeepaliveOptions } from './connection-keepalive.js';
import { type CallListener, type GrpcCall, RefusedCall } from './grpc-call.js';
import { GrpcPort } from './grpc-port.js';
import { isStreaming, type ServedMethod, servedMethods } from './service.js';
import { StreamCall } from './stream-call.js';
import { UnaryCall } from './unary-call.js';

export interface GrpcFrontendOptions {
  readonly server: ServedCore;
  readonly address: string;
  readonly port: number;
  /** Largest inference request in bytes, also once it is inflated. */
  readonly maxMessageSize: number;
  readonly logger: Logger;
  /** How answers of inference are compressed for clients that accept that. Default: not at all. */
  readonly compressionLevel?: CompressionLevel | undefined;
  /** The methods that want a header. Default: none. */
  readonly restrictions?: readonly Restriction[];
  /** Which metadata become request parameters. Default: none. */
  readonly headerForwardPattern?: string | undefined;
  /** Default: Triton's. */
  readonly keepalive?: KeepaliveOptions | undefined;
  /** Default: no TLS. */
  readonly tls?: TlsFiles | undefined;
  /** The HTTP/2 that it is served over. */
  readonly openPort: OpenHttp2Port;
  /** What clients may have the server hold. Default: anything. */
  readonly budget?: Http2PortOptions['budget'];
  /** Default: all hosts are answered. */
  readonly hosts?: AllowedHosts | undefined;
  /** Shared with other ports. Default: any number of connections. */
  readonly limit?: Http2PortOptions['limit'];
}

/** What Triton puts before the keys of restrictions in the metadata of calls. */
const RESTRICTION_PREFIX = 'triton-grpc-protocol-';

/** What is known of the calls of one method before they come. */
interface Route {
  readonly method: ServedMethod['method'];
  /** When it wants a header. */
  readonly restriction: Category | undefined;
  readonly maxMessageSize: number;
}

export class GrpcFrontend implements Frontend {
  readonly name = 'GRPCInferenceService';
  readonly #options: GrpcFrontendOptions;
  /** By path. */
  readonly #routes: ReadonlyMap<string, Route>;
  readonly #restricted: RestrictedFeatures;
  readonly #streams = new Set<StreamCall>();
  #port: GrpcPort | undefined;
  #draining = false;

  /** Throws INVALID_ARG when the pattern for metadata cannot be read. */
  constructor(options: GrpcFrontendOptions) {
    const { server, compressionLevel = 'none', headerForwardPattern: pattern, budget } = options;
    this.#options = options;
    this.#restricted = new RestrictedFeatures(options.restrictions ?? [], RESTRICTION_PREFIX);
    const forwarding = pattern === undefined ? undefined : new HeaderForwarding(pattern, 'grpcHeaderForwardPattern');
    const largestRequest = budget?.largestRequest;
    const methods = servedMethods({ server, forwarding, compression: compressionLevel, largestRequest });
    this.#routes = new Map([...methods].map(([path, served]) => [path, this.#routeOf(served)]));
  }

  /** Rejects also with INVALID_ARG when certificates cannot be used. */
  async start(): Promise<number> {
    const { address, port, logger, keepalive = DEFAULT_KEEPALIVE, tls, openPort, budget, limit, hosts } = this.#options;
    this.#port = new GrpcPort({
      open: openPort,
      budget,
      limit,
      tls: tls === undefined ? undefined : readPortTls(tls),
      accept: (call) => this.#accept(call),
      keepalive,
      hosts,
      logger,
    });
    return this.#port.listen(address, port);
  }

  get connections(): number {
    return this.#port?.connections ?? 0;
  }

  retire(): void {
    this.#port?.retire();
  }

  drain(): void {
    this.#draining = true;
    this.#port?.drain();
    for (const stream of this.#streams) stream.drain();
  }

  get underWay(): number {
    return this.#port?.underWay ?? 0;
  }

  async settled(): Promise<void> {
    await this.#port?.settled();
  }

  async close(): Promise<void> {
    this.drain();
    await this.#port?.close();
  }

  #routeOf({ method, category, maxMessageSize = Infinity }: ServedMethod): Route {
    const { budget } = this.#options;
    const isRestricted = category !== undefined && this.#restricted.has(category);
    return {
      method,
      restriction: isRestricted ? category : undefined,
      maxMessageSize: Math.min(this.#options.maxMessageSize, maxMessageSize, budget?.largestRequest ?? Infinity),
    };
  }

  #accept(call: GrpcCall): CallListener | undefined {
    const route = this.#routes.get(call.path);
    // Without a text, as Triton answers unknown paths.
    if (route === undefined) return new RefusedCall(() => call.fail(GRPC_STATUS.UNIMPLEMENTED, ''));
    const { method, restriction, maxMessageSize } = route;
    const missing = restriction && this.#restricted.missing(restriction, (name) => call.header(name));
    if (missing !== undefined) {
      const text = `This protocol is restricted, expecting header '${missing}'`;
      return new RefusedCall(() => call.fail(GRPC_STATUS.UNAVAILABLE, text));
    }
    const encoding = call.header('grpc-encoding');
    if (!isKnownEncoding(encoding)) {
      const text = `grpc-encoding '${encoding}' is not supported, expected one of ${ACCEPTED_ENCODINGS}`;
      const headers = { 'grpc-accept-encoding': ACCEPTED_ENCODINGS };
      return new RefusedCall(() => call.fail(GRPC_STATUS.UNIMPLEMENTED, text, headers));
    }
    if (!isStreaming(method)) return new UnaryCall(call, method, maxMessageSize);
    const stream = new StreamCall(call, method, { maxMessageSize, onEnd: (ended) => this.#streams.delete(ended) });
    if (stream.ended) return undefined;
    this.#streams.add(stream);
    if (this.#draining) stream.drain();
    return stream;
  }
}
