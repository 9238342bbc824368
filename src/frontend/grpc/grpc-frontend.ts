// The gRPC port: methods on a transport.

import type { Logger } from '../../model/logger.js';
import { GRPC_STATUS } from '../../protocol/grpc/grpc-status.js';
import { ACCEPTED_ENCODINGS, isKnownEncoding, type CompressionLevel } from '../../protocol/grpc/message-compression.js';
import { HeaderForwarding } from '../../protocol/header-forwarding.js';
import type { Frontend } from '../frontend.js';
import { RestrictedFeatures, type Restriction } from '../restricted-features.js';
import { readGrpcTls, type GrpcTlsFiles } from './grpc-tls.js';
import type { CallListener, GrpcCall, GrpcTransport } from './grpc-transport.js';
import { categoryOfMethod, RESTRICTION_PREFIX } from './method-categories.js';
import { NodeHttp2Transport } from './node-http2-transport.js';
import type { ServedCore } from '../served-core.js';
import { isStreaming, servedMethods, type ServedMethod } from './service.js';
import { DEFAULT_KEEPALIVE, type KeepaliveOptions } from './session-keepalive.js';
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
  readonly tls?: GrpcTlsFiles | undefined;
}

export class GrpcFrontend implements Frontend {
  readonly name = 'GRPCInferenceService';
  readonly #options: GrpcFrontendOptions;
  readonly #methods: ReadonlyMap<string, ServedMethod>;
  readonly #restricted: RestrictedFeatures;
  readonly #streams = new Set<StreamCall>();
  #transport: GrpcTransport | undefined;
  #draining = false;

  /** Throws INVALID_ARG when the pattern for metadata cannot be read. */
  constructor(options: GrpcFrontendOptions) {
    const { server, compressionLevel = 'none', headerForwardPattern: pattern } = options;
    this.#options = options;
    this.#restricted = new RestrictedFeatures(options.restrictions ?? [], RESTRICTION_PREFIX);
    const forwarding = pattern === undefined ? undefined : new HeaderForwarding(pattern, 'grpcHeaderForwardPattern');
    this.#methods = servedMethods({ server, forwarding, compression: compressionLevel });
  }

  /** Rejects also with INVALID_ARG when certificates cannot be used. */
  async start(): Promise<number> {
    const { address, port, logger, keepalive = DEFAULT_KEEPALIVE, tls } = this.#options;
    this.#transport = new NodeHttp2Transport({
      logger,
      keepalive,
      tls: tls === undefined ? undefined : readGrpcTls(tls),
      accept: (call) => this.#accept(call),
    });
    return this.#transport.listen(address, port);
  }

  get connections(): number {
    return this.#transport?.connections ?? 0;
  }

  drain(): void {
    this.#draining = true;
    this.#transport?.drain();
    for (const stream of this.#streams) stream.drain();
  }

  async close(): Promise<void> {
    this.drain();
    await this.#transport?.close();
  }

  #accept(call: GrpcCall): CallListener | undefined {
    const method = this.#methods.get(call.path);
    if (method === undefined) {
      // Without a text, as Triton answers unknown paths.
      call.fail(GRPC_STATUS.UNIMPLEMENTED, '');
      return undefined;
    }
    const category = categoryOfMethod(call.path);
    const missing = category && this.#restricted.missing(category, (name) => call.header(name));
    if (missing !== undefined) {
      call.fail(GRPC_STATUS.UNAVAILABLE, `This protocol is restricted, expecting header '${missing}'`);
      return undefined;
    }
    const encoding = call.header('grpc-encoding');
    if (!isKnownEncoding(encoding)) {
      call.fail(
        GRPC_STATUS.UNIMPLEMENTED,
        `grpc-encoding '${encoding}' is not supported, expected one of ${ACCEPTED_ENCODINGS}`,
        { 'grpc-accept-encoding': ACCEPTED_ENCODINGS },
      );
      return undefined;
    }
    const maxMessageSize = Math.min(this.#options.maxMessageSize, method.maxMessageSize ?? Infinity);
    if (!isStreaming(method)) return new UnaryCall(call, method, maxMessageSize);
    const stream = new StreamCall(call, method, { maxMessageSize, onEnd: (ended) => this.#streams.delete(ended) });
    if (stream.ended) return undefined;
    this.#streams.add(stream);
    if (this.#draining) stream.drain();
    return stream;
  }
}
