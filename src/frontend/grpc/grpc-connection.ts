// One connection of a gRPC client: which of its streams are calls, how long it lives, and what the log says about its end.

import { lowerCase } from '../../ascii.js';
import { isHost } from '../../http1/host.js';
import type { ConnectionControl, ConnectionListener } from '../../http2/connection-listener.js';
import type { HeaderList } from '../../http2/header-list.js';
import type { Http2Error } from '../../http2/http2-error.js';
import type { Http2Stream, StreamListener } from '../../http2/http2-stream.js';
import { HeaderTemplate } from '../../http2/outgoing-headers.js';
import type { Logger } from '../../observability/logger.js';
import { GRPC_STATUS } from '../../protocol/grpc/grpc-status.js';
import type { AllowedHosts } from '../allowed-hosts.js';
import { ConnectionKeepalive, type KeepaliveOptions } from './connection-keepalive.js';
import { callHead, type CallHead, RefusedCall, type RouteCall, type TakeCall } from './grpc-call.js';
import { Http2Call } from './http2-call.js';

const BAD_REQUEST = new HeaderTemplate([':status', '400']);
const METHOD_NOT_ALLOWED = new HeaderTemplate([':status', '405']);
const UNSUPPORTED_MEDIA_TYPE = new HeaderTemplate([':status', '415']);

export interface GrpcConnectionOptions {
  readonly route: RouteCall;
  readonly keepalive: KeepaliveOptions;
  /** Default: all hosts are answered. */
  readonly hosts?: AllowedHosts | undefined;
  readonly logger: Logger;
}

export class GrpcConnection implements ConnectionListener {
  readonly #options: GrpcConnectionOptions;
  readonly #connection: ConnectionControl;
  #keepalive: ConnectionKeepalive;

  constructor(connection: ConnectionControl, options: GrpcConnectionOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#keepalive = new ConnectionKeepalive(connection, options.keepalive, (text) => this.#log(text));
  }

  onStream(stream: Http2Stream, headers: HeaderList): StreamListener | undefined {
    // Calls with the same headers share a list, so the connection reads each list once.
    const { head, take } = (headers.memo ??= this.#read(headers)) as CallKind;
    return take(new Http2Call(stream, head, this));
  }

  /** The connection is of a process of the operator's own, which has times of its own, and may read when its callables let it. */
  keepalive(options: Partial<KeepaliveOptions>): void {
    this.#connection.readsLate = true;
    this.#keepalive.stop();
    const all = { ...this.#options.keepalive, ...options };
    this.#keepalive = new ConnectionKeepalive(this.#connection, all, (text) => this.#log(text));
  }

  onPing(): void {
    this.#keepalive.pinged(performance.now());
  }

  onClose(error: Http2Error | undefined): void {
    this.#keepalive.stop();
    // The calls of the connection learn this through their streams.
    if (error !== undefined && !this.#keepalive.hasClosed) this.#log(`gRPC connection failed: ${error.message}`);
  }

  onListenerError(error: unknown): void {
    const { stack, message = String(error) } = error as Partial<Error>;
    this.#options.logger.error(`this is a bug in TSTriton: a gRPC call failed: ${stack ?? message}`);
  }

  #read(headers: HeaderList): CallKind {
    const header = (name: string) => headers.get(name);
    const head = callHead({ path: headers.get(':path') ?? '', header, rawHeaders: headers.fields });
    const refuse = findRefusal(headers, this.#options.hosts);
    if (refuse === undefined) return { head, take: this.#options.route(head) };
    return { head, take: (call) => new RefusedCall(() => refuse(call)) };
  }

  #log(text: string): void {
    this.#options.logger.verbose(1, text);
  }
}

/** What calls with the same headers have in common. */
interface CallKind {
  readonly head: CallHead;
  readonly take: TakeCall<Http2Call>;
}

/** Ends a call that the server does not serve. */
type Refusal = (call: Http2Call) => void;

function findRefusal(headers: HeaderList, allowed: AllowedHosts | undefined): Refusal | undefined {
  const host = headers.get('host');
  const authority = headers.get(':authority') ?? host;
  const hosts = authority?.split(',') ?? [];
  // A request that is not a call gets an HTTP answer. Clients that know several addresses name all of them
  // (`ipv4:10.0.0.1:80,10.0.0.2:80`).
  if (!hosts.every(isHost) || (host !== undefined && lowerCase(host) !== lowerCase(authority!))) {
    return (call) => call.refuse(BAD_REQUEST);
  }
  if (headers.get(':method') !== 'POST') return (call) => call.refuse(METHOD_NOT_ALLOWED);
  if (!isGrpcContentType(headers.get('content-type'))) return (call) => call.refuse(UNSUPPORTED_MEDIA_TYPE);
  for (const name of hosts.length === 0 ? [undefined] : hosts) {
    const text = allowed?.refusal(name);
    if (text !== undefined) return (call) => call.fail(GRPC_STATUS.PERMISSION_DENIED, text);
  }
  return undefined;
}

const CONTENT_TYPE = /^(?:application\/grpc(?:[+;].*)?)?$/i;

/** True for the content types of gRPC, and for a missing one, which Triton accepts too. */
export function isGrpcContentType(contentType: string | undefined): boolean {
  return contentType === undefined || contentType === 'application/grpc' || CONTENT_TYPE.test(contentType);
}
