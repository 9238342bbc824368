// How the options of a server become flags of NVIDIA's tritonserver, for `engine: 'tritonserver'`. An option without a flag
// is refused, because an option that is ignored misleads.

import { invalidArg, TritonError } from '../errors.js';
import { flagOf } from './flags.js';
import type { TritonConfig } from './generated/triton-config.js';
import { listOf } from './option-value.js';
import { type OptionName, OPTIONS } from './options.js';
import type { Restriction } from '../frontend/restricted-features.js';

/** Its own flag has the same name. */
const FLAG = { kind: 'flag' } as const;
/** One flag for each entry. */
const FLAGS = { kind: 'flags' } as const;
/** It takes effect in this process, or {@link tritonserverFlags} has a flag made from several options. */
const HERE = { kind: 'here' } as const;

type Use = typeof FLAG | typeof FLAGS | typeof HERE | { readonly kind: 'refused'; readonly why: string };

const refused = (why: string): Use => ({ kind: 'refused', why });

const NO_LIMIT = refused('tritonserver has no such limit');
const NO_HTTPS = refused('tritonserver serves HTTP without TLS: put a proxy before it');

const USES: Readonly<Record<OptionName, Use>> = {
  engine: HERE,
  tritonserverPath: HERE,
  tritonserverArgs: HERE,
  id: FLAG,
  serverThread: refused('tritonserver is a process of its own'),
  strictReadiness: FLAG,
  maskErrors: refused('tritonserver tells clients the message of each error'),
  shutdownDelaySecs: refused('tritonserver takes no new requests once it ends'),
  exitTimeoutSecs: HERE,
  exitOnError: HERE,
  maxConnections: NO_LIMIT,
  maxInflightBytes: NO_LIMIT,
  allowedHosts: refused('tritonserver answers whatever name it is asked by'),
  allowClientShm: refused('tritonserver always allows it, behind restrictedEndpoints'),
  allowPage: refused('tritonserver has no page'),
  allowHttp: FLAG,
  httpAddress: FLAG,
  httpPort: HERE,
  httpMaxInputSize: refused('the flag is of newer versions only: give it with tritonserverArgs'),
  httpHeaderForwardPattern: FLAG,
  corsAllowOrigin: refused('tritonserver lets no pages of other origins in'),
  httpUseSsl: NO_HTTPS,
  httpUseSslMutual: NO_HTTPS,
  httpServerCert: NO_HTTPS,
  httpServerKey: NO_HTTPS,
  httpRootCert: NO_HTTPS,
  allowGrpc: FLAG,
  grpcAddress: FLAG,
  grpcPort: HERE,
  grpcMaxMessageSize: refused('tritonserver takes messages of up to 2 GiB'),
  grpcHeaderForwardPattern: FLAG,
  grpcUseSsl: FLAG,
  grpcUseSslMutual: FLAG,
  grpcServerCert: FLAG,
  grpcServerKey: FLAG,
  grpcRootCert: FLAG,
  grpcInferResponseCompressionLevel: FLAG,
  grpcKeepaliveTime: FLAG,
  grpcKeepaliveTimeout: FLAG,
  grpcKeepalivePermitWithoutCalls: FLAG,
  grpcHttp2MaxPingsWithoutData: FLAG,
  grpcHttp2MinRecvPingIntervalWithoutData: FLAG,
  grpcHttp2MaxPingStrikes: FLAG,
  allowMetrics: FLAG,
  metricsAddress: FLAG,
  metricsPort: HERE,
  metricsConfig: FLAGS,
  metricsIntervalMs: FLAG,
  allowCpuMetrics: FLAG,
  allowGpuMetrics: FLAG,
  traceConfig: FLAGS,
  accessToken: HERE,
  remoteAccessToken: refused('tritonserver takes no models of other processes'),
  remoteSocket: refused('tritonserver takes no models of other processes'),
  restrictedEndpoints: HERE,
  httpRestrictedApi: HERE,
  grpcRestrictedProtocol: HERE,
  modelRepository: FLAGS,
  modelControlMode: HERE,
  loadModel: HERE,
  repositoryPollSecs: refused(
    "tritonserver is run with model control, so that models can be bound: 'poll' is not there",
  ),
  disableAutoCompleteConfig: HERE,
  cacheConfig: FLAGS,
  responseCacheByteSize: HERE,
  allowVertexAi: FLAG,
  vertexAiPort: FLAG,
  vertexAiDefaultModel: FLAG,
  allowSagemaker: FLAG,
  sagemakerPort: FLAG,
  sagemakerSafePortRange: FLAG,
  logInfo: HERE,
  logWarning: HERE,
  logError: HERE,
  logFormat: HERE,
  logVerbose: FLAG,
  logFile: HERE,
  logger: HERE,
};

/** Throws UNSUPPORTED or INVALID_ARG for given options that do not go with the engine. */
export function checkEngine(given: TritonConfig): void {
  if (given.engine !== 'tritonserver') {
    const idle = (['tritonserverPath', 'tritonserverArgs'] as const).find((name) => given[name] !== undefined);
    if (idle !== undefined) throw invalidArg(`${idle} needs engine: 'tritonserver'`);
    return;
  }
  for (const name of Object.keys(given) as OptionName[]) {
    const use = USES[name];
    if (use.kind === 'refused')
      throw new TritonError('UNSUPPORTED', `${name} does not go with engine: 'tritonserver': ${use.why}`);
  }
  if (given.modelControlMode === 'poll') {
    const { why } = USES.repositoryPollSecs as { readonly why: string };
    throw new TritonError('UNSUPPORTED', `modelControlMode: 'poll' does not go with engine: 'tritonserver': ${why}`);
  }
  if (given.allowHttp === false && (given.grpcUseSsl || given.grpcUseSslMutual)) {
    throw new TritonError(
      'UNSUPPORTED',
      "engine: 'tritonserver' needs allowHttp, or gRPC without TLS, to load models into it",
    );
  }
}

/** The real ports of tritonserver's own frontends. */
export interface TritonserverPorts {
  readonly http: number | undefined;
  readonly grpc: number | undefined;
  readonly metrics: number | undefined;
}

export interface FlagSources {
  readonly given: TritonConfig;
  readonly ports: TritonserverPorts;
  readonly restrictions: { readonly http: readonly Restriction[]; readonly grpc: readonly Restriction[] };
  readonly exitTimeoutSecs: number;
}

/** The flags that stand for options. */
export function tritonserverFlags({ given, ports, restrictions, exitTimeoutSecs }: FlagSources): readonly string[] {
  const flags: string[] = [];
  const add = (option: string, value: unknown) => flags.push(`${flagOf(option)}=${String(value)}`);
  for (const name of Object.keys(OPTIONS) as OptionName[]) {
    const value: unknown = given[name];
    if (value === undefined) continue;
    const use = USES[name];
    if (use.kind === 'flag') add(name, value);
    if (use.kind === 'flags') for (const entry of listOf(value as string | readonly string[])) add(name, entry);
  }
  if (given.metricsAddress === undefined && given.httpAddress !== undefined) add('metricsAddress', given.httpAddress);
  for (const [name, port] of Object.entries(ports)) if (port !== undefined) add(`${name}Port`, port);
  if (given.responseCacheByteSize !== undefined) add('cacheConfig', `local,size=${given.responseCacheByteSize}`);
  if (given.disableAutoCompleteConfig === true) flags.push(flagOf('disableAutoCompleteConfig'));
  for (const { categories, key, value } of restrictions.http)
    if (categories.length > 0) add('httpRestrictedApi', `${categories.join(',')}:${key}=${value}`);
  for (const { categories, key, value } of restrictions.grpc)
    if (categories.length > 0) add('grpcRestrictedProtocol', `${categories.join(',')}:${key}=${value}`);
  add('exitTimeoutSecs', exitTimeoutSecs);
  add('modelControlMode', 'explicit');
  // All of them but in explicit mode, which is the user's to ask for.
  const wanted = given.modelControlMode === 'explicit' ? listOf(given.loadModel) : ['*'];
  for (const name of wanted) add('loadModel', name);
  flags.push(...listOf(given.tritonserverArgs));
  return flags;
}
