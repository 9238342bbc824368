// The options of a client and of one call, checked: what is not understood is refused, never ignored.

import { TritonError } from '../errors.js';
import type { Parameters } from '../model/parameters.js';
import type { RequestSequence } from '../model/request-sequence.js';
import { SEQUENCE_PARAMETERS, SequenceFields } from '../protocol/sequence-parameters.js';
import { checkMembers, expectBoolean, expectInteger } from '../model/check.js';
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
  /** Cancels the call. */
  readonly signal?: AbortSignal;
}

/** The sequence that a request belongs to. */
export interface SequenceOptions {
  /** What the requests of the sequence have in common: a text of 1 to 128 bytes, or an integer from 1 to 2^64 - 1. */
  readonly id: string | number | bigint;
  /** The request is the first. Default false. */
  readonly start?: boolean;
  /** The request is the last. Default false. */
  readonly end?: boolean;
}

export interface InferOptions<Output extends string = string, Classified extends string = string> {
  /** What the callable finds in `request.parameters`; Triton's own `priority` and `timeout` too. */
  readonly parameters?: Parameters;
  /** What the callable finds in `request.id`. */
  readonly requestId?: string;
  /** What the callable finds in `request.sequence`. */
  readonly sequence?: SequenceOptions;
  /** Sent besides those of the client; of equal names these win. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Cancels the call, at the server too. */
  readonly signal?: AbortSignal;
  /** Instead of the client's `timeoutMs`. */
  readonly timeoutMs?: number;
  /** The outputs to compute and send. Default: all. */
  readonly outputs?: readonly Output[];
  /** Of these outputs so many of the best values, as texts `value:index` or `value:index:label`, in place of the tensor. */
  readonly classes?: { readonly [Name in Classified]: number };
  /** The level in the server's queue: 1 is the highest. Default: the model's own. */
  readonly priority?: number;
  /** How long the request may wait in the server's queue, in microseconds, where the model allows clients to say it. */
  readonly serverTimeoutMicroseconds?: number;
}

const SERVER_CLIENT_MEMBERS = ['timeoutMs', 'headers', 'signal', 'tls', 'accessToken'];
const CLIENT_MEMBERS = ['modelVersion', ...SERVER_CLIENT_MEMBERS];
const CALL_MEMBERS = ['timeoutMs', 'headers', 'signal'];
const TLS_MEMBERS = ['ca', 'cert', 'key'];
const SEQUENCE_MEMBERS = ['id', 'start', 'end'];
const INFER_MEMBERS = [
  'parameters',
  'requestId',
  'sequence',
  'headers',
  'signal',
  'timeoutMs',
  'outputs',
  'classes',
  'priority',
  'serverTimeoutMicroseconds',
];
const DEFAULT_TIMEOUT_MS = 60_000;
/** The longest time of a timer in Node. */
const MAX_TIMEOUT_MS = 2_147_483_647;

export interface CompleteClientOptions {
  readonly modelVersion: number | undefined;
  readonly timeoutMs: number;
  readonly headers: Headers;
  readonly signal: AbortSignal | undefined;
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

/** Where a token is looked for: over gRPC restrictions have a prefix of their own. */
const TOKEN_HEADER = {
  http: 'triton-access-token',
  grpc: 'triton-grpc-protocol-triton-access-token',
} as const;

function withToken(headers: Headers, token: unknown, protocol: 'http' | 'grpc'): Headers {
  if (token === undefined) return headers;
  if (expectText(token, 'accessToken') === '') throw new TritonError('INVALID_ARG', 'accessToken cannot be empty');
  const name = TOKEN_HEADER[protocol];
  // Which of the two is meant nobody knows; neither is shown.
  if (headers[name] !== undefined && headers[name] !== token)
    throw new TritonError('INVALID_ARG', `accessToken and header '${name}' differ, expected one of them`);
  return { ...headers, ...checkHeaders({ [name]: token }) };
}

/** Throws INVALID_ARG. */
export function completeCallOptions(
  options: CallOptions,
  client: CompleteClientOptions,
): Pick<CompleteClientOptions, 'timeoutMs' | 'headers' | 'signal'> {
  checkMembers(options, CALL_MEMBERS, 'options of a call');
  return callLimits(options, client);
}

function callLimits({ timeoutMs, headers, signal }: CallOptions, client: CompleteClientOptions) {
  return {
    headers: headers === undefined ? client.headers : { ...client.headers, ...checkHeaders(headers) },
    signal: expectSignal(signal),
    timeoutMs: timeoutMs === undefined ? client.timeoutMs : expectTimeout(timeoutMs),
  };
}

export interface CompleteInferOptions {
  readonly parameters: Parameters | undefined;
  readonly requestId: string;
  readonly sequence: RequestSequence | undefined;
  readonly headers: Headers;
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number;
  readonly outputs: readonly string[];
  readonly classes: ReadonlyMap<string, number> | undefined;
  /** 0: the model's own. */
  readonly priority: number;
  /** 0: none. */
  readonly timeoutMicroseconds: number;
}

/** Throws INVALID_ARG. */
export function completeInferOptions(options: InferOptions, client: CompleteClientOptions): CompleteInferOptions {
  checkMembers(options, INFER_MEMBERS, 'options of an inference');
  const { parameters, requestId, sequence, outputs, classes, priority, serverTimeoutMicroseconds } = options;
  refuseTwice(parameters, 'priority', priority, 'priority');
  refuseTwice(parameters, 'timeout', serverTimeoutMicroseconds, 'serverTimeoutMicroseconds');
  return {
    ...callLimits(options, client),
    parameters: checkParameters(parameters),
    requestId: expectText(requestId ?? '', 'requestId'),
    sequence: sequence === undefined ? undefined : checkSequence(sequence, parameters),
    outputs: checkOutputs(outputs),
    classes: checkClasses(classes),
    priority: priority === undefined ? 0 : expectInteger(priority, 1, MAX_UINT32, 'priority'),
    timeoutMicroseconds:
      serverTimeoutMicroseconds === undefined
        ? 0
        : expectInteger(serverTimeoutMicroseconds, 1, Number.MAX_SAFE_INTEGER, 'serverTimeoutMicroseconds'),
  };
}

function expectTimeout(value: unknown): number {
  if (typeof value === 'number' && value > 0 && value <= MAX_TIMEOUT_MS) return value;
  throw new TritonError(
    'INVALID_ARG',
    `timeoutMs must be a number above 0 and at most ${MAX_TIMEOUT_MS}, got ${String(value)}`,
  );
}

function expectText(value: unknown, what: string): string {
  if (typeof value === 'string') return value;
  throw new TritonError('INVALID_ARG', `${what} must be a string, got ${describe(value)}`);
}

function expectSignal(value: unknown): AbortSignal | undefined {
  if (value === undefined || value instanceof AbortSignal) return value;
  throw new TritonError('INVALID_ARG', `signal must be an AbortSignal, got ${describe(value)}`);
}

function checkOutputs(names: unknown): readonly string[] {
  if (names === undefined) return [];
  if (!Array.isArray(names))
    throw new TritonError('INVALID_ARG', `outputs must be a list of names, got ${describe(names)}`);
  if (names.length === 0)
    throw new TritonError('INVALID_ARG', 'outputs must name one output at least; leave it out to ask for all');
  return names.map((name) => expectText(name, 'a name in outputs'));
}

const MAX_UINT32 = 2 ** 32 - 1;

function refuseTwice(parameters: unknown, parameter: string, value: unknown, option: string): void {
  if (value === undefined || typeof parameters !== 'object' || parameters === null) return;
  if (!Object.hasOwn(parameters, parameter)) return;
  throw new TritonError(
    'INVALID_ARG',
    `parameter '${parameter}' and the option '${option}' say the same, expected one`,
  );
}

function checkClasses(classes: unknown): ReadonlyMap<string, number> | undefined {
  if (classes === undefined) return undefined;
  checkRecord(classes, 'classes');
  const entries = Object.entries(classes as object).map(
    ([name, count]) => [name, expectInteger(count as number, 1, MAX_INT32, `classes of output '${name}'`)] as const,
  );
  return entries.length === 0 ? undefined : new Map(entries);
}

const MAX_INT32 = 2 ** 31 - 1;

// What frames the message or the connection is the transport's own.
const OWN_HEADERS = [
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'grpc-encoding',
  'grpc-timeout',
  'host',
  'inference-header-content-length',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
];

function checkHeaders(headers: unknown): Headers {
  if (headers === undefined) return {};
  checkRecord(headers, 'headers');
  const checked: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers as object)) {
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/i.test(name))
      throw new TritonError('INVALID_ARG', `invalid header name ${JSON.stringify(name)}`);
    const key = name.toLowerCase();
    if (OWN_HEADERS.includes(key)) throw new TritonError('INVALID_ARG', `header '${name}' is set by the client itself`);
    // The value may be a secret: it is not shown.
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(expectText(value, `header '${name}'`))) {
      throw new TritonError('INVALID_ARG', `header '${name}' has a value with characters that headers cannot have`);
    }
    checked[key] = value as string;
  }
  return checked;
}

const MIN_INT64 = -(2n ** 63n);
const MAX_UINT64 = 2n ** 64n - 1n;

function checkParameters(parameters: unknown): Parameters | undefined {
  if (parameters === undefined) return undefined;
  checkRecord(parameters, 'parameters');
  for (const [name, value] of Object.entries(parameters as object)) {
    if (name === 'binary_data_output')
      throw new TritonError('INVALID_ARG', `parameter '${name}' is set by the client itself`);
    const fits =
      typeof value === 'bigint'
        ? value >= MIN_INT64 && value <= MAX_UINT64
        : ['string', 'boolean', 'number'].includes(typeof value);
    if (fits) continue;
    const got = typeof value === 'bigint' ? String(value) : describe(value);
    throw new TritonError(
      'INVALID_ARG',
      `parameter '${name}' must be a string, a boolean, a number or a bigint of 64 bits, got ${got}`,
    );
  }
  return parameters as Parameters;
}

export function checkSequence(options: SequenceOptions, parameters: Parameters | undefined): RequestSequence {
  checkMembers(options, SEQUENCE_MEMBERS, 'options.sequence of an inference');
  const twice = SEQUENCE_PARAMETERS.find((name) => parameters !== undefined && Object.hasOwn(parameters, name));
  if (twice !== undefined)
    throw new TritonError('INVALID_ARG', `parameter '${twice}' and the option 'sequence' say the same, expected one`);
  const { id, start = false, end = false } = options;
  const fits =
    typeof id === 'string'
      ? id !== ''
      : typeof id === 'bigint'
        ? id >= 1n && id <= MAX_UINT64
        : Number.isSafeInteger(id) && id >= 1;
  if (!fits) {
    throw new TritonError(
      'INVALID_ARG',
      `sequence.id must be a text that is not empty or an integer from 1 to 2^64 - 1, got ${typeof id === 'string' ? "''" : String(id)}`,
    );
  }
  const fields = new SequenceFields();
  fields.id = id;
  fields.start = expectBoolean(start, 'sequence.start');
  fields.end = expectBoolean(end, 'sequence.end');
  return fields.sequence!;
}

function checkRecord(value: unknown, what: string): void {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return;
  throw new TritonError('INVALID_ARG', `${what} must be an object, got ${describe(value)}`);
}

function describe(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : typeof value;
}
