// One connection of a gRPC client: which of its streams are calls, how long it lives, and what the log says of its end.

import { lowerCase } from '../../ascii.js';
import { isHost } from '../../http1/host.js';
import type { ConnectionControl, ConnectionListener } from '../../http2/connection-listener.js';
import type { HeaderList } from '../../http2/header-list.js';
import type { Http2Error } from '../../http2/http2-error.js';
import type { Http2Stream, StreamListener } from '../../http2/http2-stream.js';
import { HeaderTemplate } from '../../http2/outgoing-headers.js';
import type { Logger } from '../../model/logger.js';
import { GRPC_STATUS } from '../../protocol/grpc/grpc-status.js';
import type { AllowedHosts } from '../allowed-hosts.js';
import { ConnectionKeepalive, type KeepaliveOptions } from './connection-keepalive.js';
import { type AcceptCall, RefusedCall } from './grpc-call.js';
import { Http2Call } from './http2-call.js';

const BAD_REQUEST = new HeaderTemplate([':status', '400']);
const METHOD_NOT_ALLOWED = new HeaderTemplate([':status', '405']);
const UNSUPPORTED_MEDIA_TYPE = new HeaderTemplate([':status', '415']);

export interface GrpcConnectionOptions {
  readonly accept: AcceptCall;
  readonly keepalive: KeepaliveOptions;
  /** Default: all hosts are answered. */
  readonly hosts?: AllowedHosts | undefined;
  readonly logger: Logger;
}

export class GrpcConnection implements ConnectionListener {
  readonly #connection: ConnectionControl;
  readonly #options: GrpcConnectionOptions;
  readonly #keepalive: ConnectionKeepalive;

  constructor(connection: ConnectionControl, options: GrpcConnectionOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#keepalive = new ConnectionKeepalive(connection, options.keepalive, (text) => this.#log(text));
  }

  onStream(stream: Http2Stream, headers: HeaderList): StreamListener | undefined {
    // It was sent before the client heard that the connection ends: refused unprocessed, it can be sent elsewhere.
    if (this.#connection.isEnding) {
      stream.reset('REFUSED_STREAM');
      return undefined;
    }
    const call = new Http2Call(stream, headers);
    // Lists are shared by calls that begin alike: what is found out of one is found out once.
    const refusal = (headers.memo ??= findRefusal(headers, this.#options.hosts)) as Refusal;
    if (refusal === NONE) call.start(this.#options.accept);
    else call.start(() => new RefusedCall(() => refusal(call)));
    return call;
  }

  onPing(): void {
    this.#keepalive.pinged(performance.now());
  }

  onClose(error: Http2Error | undefined): void {
    this.#keepalive.stop();
    // Its calls learn of it through their streams.
    if (error !== undefined && !this.#keepalive.hasClosed) this.#log(`gRPC connection failed: ${error.message}`);
  }

  onListenerError(error: unknown): void {
    const { stack, message = String(error) } = error as Partial<Error>;
    this.#options.logger.error(`this is a bug in TSTriton: a gRPC call failed: ${stack ?? message}`);
  }

  #log(text: string): void {
    this.#options.logger.verbose(1, text);
  }
}

/** Ends a call that is not served. */
type Refusal = (call: Http2Call) => void;

const NONE: Refusal = () => undefined;

function findRefusal(headers: HeaderList, allowed: AllowedHosts | undefined): Refusal {
  const host = headers.get('host');
  const authority = headers.get(':authority') ?? host;
  const hosts = authority?.split(',') ?? [];
  // HTTP speaks of a request that is no call. Clients with several addresses name them all (`ipv4:10.0.0.1:80,10.0.0.2:80`).
  if (!hosts.every(isHost) || (host !== undefined && lowerCase(host) !== lowerCase(authority!))) {
    return (call) => call.refuse(BAD_REQUEST);
  }
  if (headers.get(':method') !== 'POST') return (call) => call.refuse(METHOD_NOT_ALLOWED);
  if (!isGrpcContentType(headers.get('content-type'))) return (call) => call.refuse(UNSUPPORTED_MEDIA_TYPE);
  for (const name of hosts.length === 0 ? [undefined] : hosts) {
    const text = allowed?.refusal(name);
    if (text !== undefined) return (call) => call.fail(GRPC_STATUS.PERMISSION_DENIED, text);
  }
  return NONE;
}

const CONTENT_TYPE = /^(?:application\/grpc(?:[+;].*)?)?$/i;

/** True for the content types of gRPC, a missing one included: Triton takes it too. */
export function isGrpcContentType(contentType: string | undefined): boolean {
  return contentType === undefined || contentType === 'application/grpc' || CONTENT_TYPE.test(contentType);
}
