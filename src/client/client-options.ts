// The options of a client and of a call that is no inference, checked: what is not understood is refused, never ignored.

import { checkMembers, expectInteger } from '../model/check.js';
import { expectSignal, expectTimeout } from './option-values.js';
import { checkHeaders, withToken } from './request-headers.js';
import type { Headers } from './transport.js';

/** Certificates in PEM form, for `https://` and `grpcs://`. */
export interface ClientTlsOptions {
  /** Trusted authorities instead of Node's own. */
  readonly ca?: string;
  /** The client's own certificate and its private key, for servers that ask for one. */
  readonly cert?: string;
  readonly key?: string;
}

/** Of every client. */
export interface ServerClientOptions {
  /** How long a call may take, connecting and all, in milliseconds. Default 60000. */
  readonly timeoutMs?: number;
  /** Sent with every request; gRPC calls it metadata. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Cancels the calls in flight and all later ones. */
  readonly signal?: AbortSignal;
  readonly tls?: ClientTlsOptions;
  /** The token of a server with restricted endpoints, `Triton.getAccessToken()`: sent with every request, in a header of its own. */
  readonly accessToken?: string;
}

export interface ModelClientOptions extends ServerClientOptions {
  /** Default: the version that the model's spec states, else the latest. */
  readonly modelVersion?: number;
}

/** Of one call. */
export interface CallOptions {
  /** Instead of the client's `timeoutMs`. */
  readonly timeoutMs?: number;
  /** Sent besides those of the client; of equal names these win. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Cancels the call, at the server too. */
  readonly signal?: AbortSignal;
}

const SERVER_CLIENT_MEMBERS = ['timeoutMs', 'headers', 'signal', 'tls', 'accessToken'];
const CLIENT_MEMBERS = ['modelVersion', ...SERVER_CLIENT_MEMBERS];
export const CALL_MEMBERS = ['timeoutMs', 'headers', 'signal'];
const TLS_MEMBERS = ['ca', 'cert', 'key'];
const DEFAULT_TIMEOUT_MS = 60_000;

/** What every call has. */
export interface CallLimits {
  readonly timeoutMs: number;
  readonly headers: Headers;
  readonly signal: AbortSignal | undefined;
}

export interface CompleteClientOptions extends CallLimits {
  readonly modelVersion: number | undefined;
  readonly tls: ClientTlsOptions | undefined;
}

/** Throws INVALID_ARG. */
export function completeClientOptions(
  options: ModelClientOptions,
  protocol: 'http' | 'grpc',
  of: 'model' | 'server' = 'model',
): CompleteClientOptions {
  checkMembers(options, of === 'model' ? CLIENT_MEMBERS : SERVER_CLIENT_MEMBERS, 'options of a client');
  const { modelVersion, timeoutMs, headers, signal, tls, accessToken } = options;
  if (tls !== undefined) checkMembers(tls, TLS_MEMBERS, 'options.tls of a client');
  return {
    modelVersion:
      modelVersion === undefined ? undefined : expectInteger(modelVersion, 1, Number.MAX_SAFE_INTEGER, 'modelVersion'),
    timeoutMs: expectTimeout(timeoutMs ?? DEFAULT_TIMEOUT_MS),
    headers: withToken(checkHeaders(headers), accessToken, protocol),
    signal: expectSignal(signal),
    tls,
  };
}

/** Throws INVALID_ARG. */
export function completeCallOptions(options: CallOptions, client: CompleteClientOptions): CallLimits {
  checkMembers(options, CALL_MEMBERS, 'options of a call');
  return callLimits(options, client);
}

export function callLimits({ timeoutMs, headers, signal }: CallOptions, client: CompleteClientOptions): CallLimits {
  return {
    headers: headers === undefined ? client.headers : { ...client.headers, ...checkHeaders(headers) },
    signal: expectSignal(signal),
    timeoutMs: timeoutMs === undefined ? client.timeoutMs : expectTimeout(timeoutMs),
  };
}
