// Checks the options of a client, and of calls other than inferences. Unknown options are refused, never ignored.

import { TritonError } from '../errors.js';
import { checkMembers, expectBoolean, expectAtLeast, expectInteger } from '../checks/check.js';
import type { CallTimings } from './call-timings.js';
import { expectFunction, expectLimit, expectSignal, expectTimeout } from './option-values.js';
import { checkHeaders, withToken } from './request-headers.js';
import { completeRetry, DEFAULT_RETRY, type RetryOptions, type RetryPolicy } from './retry-policy.js';
import type { Headers } from './transport.js';
import type { ConcurrencyLimits } from './turn-queue.js';

/** Certificates in PEM form, for `https://` and `grpcs://`. */
export interface ClientTlsOptions {
  /** Trusted authorities instead of Node's own. */
  readonly ca?: string;
  /** The client's own certificate and its private key, for servers that ask for one. */
  readonly cert?: string;
  readonly key?: string;
}

/**
 * What `tls` takes: the certificates, or a function that is asked for them before each connection is made, so that renewed
 * certificates are used. If it throws, or gives what cannot be used, the connection fails with UNAVAILABLE, and the next one asks again.
 *
 * @example
 * const tls = () => ({ ca: readFileSync('/tls/ca.crt', 'utf8') });
 */
export type ClientTls = ClientTlsOptions | (() => ClientTlsOptions);

/** Options of every client. */
export interface ServerClientOptions {
  /** How long a call may take in milliseconds, connecting included. Default 60000. */
  readonly timeoutMs?: number;
  /** Headers that are sent with every request; gRPC calls them metadata. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Cancels the calls in flight and all later ones. */
  readonly signal?: AbortSignal;
  readonly tls?: ClientTls;
  /** How failed requests are sent again, where that is safe; false for never. */
  readonly retry?: RetryOptions | false;
  /**
   * How many calls may run at once, streams included. Further calls wait for their turn, until their deadline. Default: 512 over HTTP,
   * where each call takes a connection, and no limit over gRPC.
   */
  readonly maxConcurrency?: number;
  /** How many calls may wait for their turn; more are rejected with a TritonQueueFullError. Default: no limit. */
  readonly maxQueueSize?: number;
  /** The largest answer, or message of a stream, that the client accepts, in bytes. Default: 1 GiB. */
  readonly maxResponseBytes?: number;
  /** The token of a server with restricted endpoints, its `triton.accessToken`: sent with every request, in a header of its own. */
  readonly accessToken?: string;
}

export interface ModelClientOptions extends ServerClientOptions {
  /** Default: the version that the model's spec states, else the latest. */
  readonly modelVersion?: number;
  /**
   * Whether the client sends tensors over HTTP in binary form, and asks for binary answers. Servers without the extension
   * `binary_tensor_data` need JSON: false. gRPC is always binary. Default true.
   */
  readonly binaryData?: boolean;
}

/** Options of one call. */
export interface CallOptions {
  /** Instead of the client's `timeoutMs`. */
  readonly timeoutMs?: number;
  /** Headers to send besides the client's own. A header here replaces one of the same name. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Cancels the call, at the server too. */
  readonly signal?: AbortSignal;
  /** How this call is sent again. Members that are left out are as in the client's options. */
  readonly retry?: RetryOptions | false;
  /**
   * Gets the timings of each request that the call sends, once the request has been answered or has failed. A failure of the function
   * is a warning of the process, or an error of the page, and no failure of the call.
   */
  readonly onTimings?: (timings: CallTimings) => void;
}

const SERVER_CLIENT_MEMBERS = [
  'timeoutMs',
  'headers',
  'signal',
  'tls',
  'retry',
  'maxConcurrency',
  'maxQueueSize',
  'maxResponseBytes',
  'accessToken',
];
const CLIENT_MEMBERS = ['modelVersion', 'binaryData', ...SERVER_CLIENT_MEMBERS];
export const CALL_MEMBERS = ['timeoutMs', 'headers', 'signal', 'retry', 'onTimings'];
const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_CONCURRENCY = { http: 512, grpc: Infinity } as const;
const DEFAULT_RESPONSE_BYTES = 2 ** 30;
/** gRPC's own limit, and Triton's. */
const MAX_RESPONSE_BYTES = 2_147_483_647;

/** The options that every call has. */
export interface CallLimits {
  readonly timeoutMs: number;
  readonly headers: Headers;
  readonly signal: AbortSignal | undefined;
  readonly retry: RetryPolicy;
  readonly onTimings: ((timings: CallTimings) => void) | undefined;
}

/** The options of a transport. */
export interface TransportOptions extends ConcurrencyLimits {
  readonly tls: ClientTls | undefined;
  readonly maxResponseBytes: number;
  readonly binaryData: boolean;
}

export interface CompleteClientOptions extends CallLimits, TransportOptions {
  readonly modelVersion: number | undefined;
}

/** Throws INVALID_ARG. */
export function completeClientOptions(
  options: ModelClientOptions,
  protocol: 'http' | 'grpc',
  of: 'model' | 'server' = 'model',
): CompleteClientOptions {
  checkMembers(options, of === 'model' ? CLIENT_MEMBERS : SERVER_CLIENT_MEMBERS, 'options of a client');
  const { modelVersion, timeoutMs, headers, signal, tls, accessToken, retry } = options;
  return {
    modelVersion: modelVersion === undefined ? undefined : expectAtLeast(modelVersion, 1, 'modelVersion'),
    timeoutMs: expectTimeout(timeoutMs ?? DEFAULT_TIMEOUT_MS),
    headers: withToken(checkHeaders(headers), accessToken, protocol),
    signal: expectSignal(signal),
    tls,
    retry: completeRetry(retry, DEFAULT_RETRY),
    onTimings: undefined,
    maxConcurrency: expectLimit(options.maxConcurrency ?? DEFAULT_CONCURRENCY[protocol], 'maxConcurrency'),
    maxQueueSize: expectLimit(options.maxQueueSize ?? Infinity, 'maxQueueSize', 0),
    maxResponseBytes: expectInteger(
      options.maxResponseBytes ?? DEFAULT_RESPONSE_BYTES,
      1,
      MAX_RESPONSE_BYTES,
      'maxResponseBytes',
    ),
    binaryData: expectForm(options.binaryData, protocol),
  };
}

function expectForm(binaryData: boolean | undefined, protocol: 'http' | 'grpc'): boolean {
  const isBinary = expectBoolean(binaryData ?? true, 'binaryData');
  if (isBinary || protocol === 'http') return isBinary;
  throw new TritonError(
    'INVALID_ARG',
    'binaryData: false is for http:// and https://; gRPC carries tensors in binary form',
  );
}

/** Throws INVALID_ARG. */
export function completeCallOptions(options: CallOptions, client: CompleteClientOptions): CallLimits {
  checkMembers(options, CALL_MEMBERS, 'options of a call');
  return callLimits(options, client);
}

export function callLimits(options: CallOptions, client: CompleteClientOptions): CallLimits {
  const { timeoutMs, headers, signal, retry, onTimings } = options;
  return {
    headers: headers === undefined ? client.headers : { ...client.headers, ...checkHeaders(headers) },
    signal: expectSignal(signal),
    timeoutMs: timeoutMs === undefined ? client.timeoutMs : expectTimeout(timeoutMs),
    retry: completeRetry(retry, client.retry),
    onTimings: expectFunction(onTimings, 'onTimings'),
  };
}
