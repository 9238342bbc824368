// gRPC's frontend: methods on a port.

import type { Http2Port, Http2PortOptions, OpenHttp2Port } from '../../http2/http2-port.js';
import type { Logger } from '../../observability/logger.js';
import { GRPC_STATUS } from '../../protocol/grpc/grpc-status.js';
import { ACCEPTED_ENCODINGS, type CompressionLevel, isKnownEncoding } from '../../protocol/grpc/message-compression.js';
import { HeaderForwarding } from '../../protocol/header-forwarding.js';
import type { AllowedHosts } from '../allowed-hosts.js';
import { listenAt } from '../listen-failure.js';
import { PortFrontend } from '../port-frontend.js';
import type { TlsFiles } from '../port-tls.js';
import { type Category, RestrictedFeatures, type Restriction } from '../restricted-features.js';
import type { ServedCore } from '../served-core.js';
import { DEFAULT_KEEPALIVE, type KeepaliveOptions } from './connection-keepalive.js';
import { type CallHead, type CallListener, type GrpcCall, RefusedCall, type TakeCall } from './grpc-call.js';
import { FLUSH_MILLISECONDS, listenAtPath, openGrpcPort } from './grpc-port.js';
import { isStreaming, type ServedMethod, servedMethods } from './grpc-service.js';
import { StreamCall, type StreamMethod } from './stream-call.js';
import { UnaryCall } from './unary-call.js';

export interface GrpcFrontendOptions {
  readonly server: ServedCore;
  readonly address: string;
  readonly port: number;
  /** The path of a Unix socket where the same is served. Default: none. */
  readonly socketPath?: string | undefined;
  /** Largest inference request in bytes. The limit also applies to the inflated request. */
  readonly maxMessageSize: number;
  readonly logger: Logger;
  /** How answers of inference are compressed for clients that accept that. Default: not at all. */
  readonly compressionLevel?: CompressionLevel | undefined;
  /** The methods that require a header. Default: none. */
  readonly restrictions?: readonly Restriction[];
  /** Which metadata become request parameters. Default: none. */
  readonly headerForwardPattern?: string | undefined;
  /** Default: Triton's. */
  readonly keepalive?: KeepaliveOptions | undefined;
  /** Default: no TLS. */
  readonly tls?: TlsFiles | undefined;
  readonly openPort: OpenHttp2Port;
  /** Limits what the server holds for clients. Default: no limit. */
  readonly budget?: Http2PortOptions['budget'];
  /** Default: all hosts are answered. */
  readonly hosts?: AllowedHosts | undefined;
  /** Serves other processes that bind models. Default: none may. */
  readonly links?: ReadonlyMap<string, StreamMethod> | undefined;
  /** Shared with other ports. Default: any number of connections. */
  readonly limit?: Http2PortOptions['limit'];
}

/** What Triton puts before the keys of restrictions in the metadata of calls. */
const RESTRICTION_PREFIX = 'triton-grpc-protocol-';

/** How the calls of one method are served. */
interface Route {
  readonly method: ServedMethod['method'];
  /** Set for a method that requires a header. */
  readonly restriction: Category | undefined;
  readonly maxMessageSize: number;
}

export class GrpcFrontend extends PortFrontend<Http2Port> {
  readonly name = 'GRPCInferenceService';
  readonly #options: GrpcFrontendOptions;
  /** By path. */
  readonly #routes: ReadonlyMap<string, Route>;
  readonly #restricted: RestrictedFeatures;
  readonly #streams = new Set<StreamCall>();
  #draining = false;

  /** Throws INVALID_ARG when the pattern for metadata cannot be read. */
  constructor(options: GrpcFrontendOptions) {
    const { server, compressionLevel = 'none', headerForwardPattern: pattern, budget, links } = options;
    super();
    this.#options = options;
    this.#restricted = new RestrictedFeatures(options.restrictions ?? [], RESTRICTION_PREFIX);
    const forwarding = pattern === undefined ? undefined : new HeaderForwarding(pattern, 'grpcHeaderForwardPattern');
    const largestRequest = budget?.largestRequest;
    const methods = servedMethods({ server, forwarding, compression: compressionLevel, largestRequest, links });
    this.#routes = new Map([...methods].map(([path, served]) => [path, this.#routeOf(served)]));
  }

  /** Rejects also with INVALID_ARG when certificates cannot be used. */
  async start(): Promise<number> {
    const {
      address,
      port,
      socketPath,
      logger,
      keepalive = DEFAULT_KEEPALIVE,
      tls,
      openPort,
      budget,
      limit,
      hosts,
    } = this.#options;
    this.port = openGrpcPort({
      open: openPort,
      budget,
      limit,
      tls: await this.readTls(tls, logger),
      route: (head) => this.#route(head),
      keepalive,
      hosts,
      logger,
    });
    const listening = await listenAt(this.port, address, port);
    if (socketPath !== undefined) await listenAtPath(this.port, socketPath);
    return listening;
  }

  override drain(): void {
    this.#draining = true;
    super.drain();
    for (const stream of this.#streams) stream.drain();
  }

  protected async closePort(): Promise<void> {
    this.drain();
    await this.port?.close(FLUSH_MILLISECONDS);
  }

  #routeOf({ method, category, maxMessageSize = Infinity }: ServedMethod): Route {
    const { budget } = this.#options;
    const isTrusted = isStreaming(method) && method.isTrusted === true;
    const largest = Math.min(this.#options.maxMessageSize, budget?.largestRequest ?? Infinity);
    const isRestricted = category !== undefined && this.#restricted.has(category);
    return {
      method,
      restriction: isRestricted ? category : undefined,
      maxMessageSize: isTrusted ? maxMessageSize : Math.min(maxMessageSize, largest),
    };
  }

  /** Finds how to serve a call by its headers, once for all calls with the same headers. */
  #route({ path, header }: CallHead): TakeCall {
    const route = this.#routes.get(path);
    // The status has no text, as in Triton's answer for unknown paths.
    if (route === undefined) return refusing((call) => call.fail(GRPC_STATUS.UNIMPLEMENTED, ''));
    const { method, restriction, maxMessageSize } = route;
    const missing = restriction && this.#restricted.missing(restriction, header);
    if (missing !== undefined) {
      const text = `This protocol is restricted, expecting header '${missing}'`;
      return refusing((call) => call.fail(GRPC_STATUS.UNAVAILABLE, text));
    }
    const encoding = header('grpc-encoding');
    if (!isKnownEncoding(encoding)) {
      const text = `grpc-encoding '${encoding}' is not supported, expected one of ${ACCEPTED_ENCODINGS}`;
      const headers = { 'grpc-accept-encoding': ACCEPTED_ENCODINGS };
      return refusing((call) => call.fail(GRPC_STATUS.UNIMPLEMENTED, text, headers));
    }
    if (isStreaming(method)) return (call) => this.#openStream(call, method, maxMessageSize);
    return (call) => new UnaryCall(call, method, maxMessageSize);
  }

  #openStream(call: GrpcCall, method: StreamMethod, maxMessageSize: number): CallListener | undefined {
    const stream = new StreamCall(call, method, { maxMessageSize, onEnd: (ended) => this.#streams.delete(ended) });
    if (stream.ended) return undefined;
    this.#streams.add(stream);
    if (this.#draining) stream.drainAfterFirst();
    return stream;
  }
}

function refusing(answer: (call: GrpcCall) => void): TakeCall {
  return (call) => new RefusedCall(() => answer(call));
}
