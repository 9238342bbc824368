// The server's configuration: Triton's flags in camelCase, from the constructor, then the environment, then the
// defaults. What is not understood is refused (constructor) or warned about (environment), never ignored.

import { TritonError } from './errors.js';
import { LOG_FORMATS, type LogFormat } from './logger.js';
import { nearest } from './model/nearest.js';
import { checkHeaderPattern } from './server/check-header-pattern.js';
import { COMPRESSION_LEVELS, grpcSettings, type CompressionLevel } from './server/grpc-settings.js';
import {
  checkSafePorts,
  sagemakerSettings,
  vertexAiRoutes,
  type SagemakerSettings,
  type VertexAiRoutes,
} from './server/hosting-environment.js';
import { checkOption, parseOption, type OptionKind } from './server/option-value.js';
import { parseCacheConfig } from './server/parse-cache-config.js';
import { parseMetricsConfig, type MetricsConfig } from './server/parse-metrics-config.js';
import { parseOrigins } from './server/parse-origins.js';
import { parseRestrictions, type Restrictions } from './server/parse-restrictions.js';

/** Options of a server. Ports: 0 takes any free one, see `triton.httpPort`. */
export interface TritonConfig {
  /** The server's name in server metadata. Default `triton`. */
  readonly id?: string;
  /** Default true. */
  readonly allowHttp?: boolean;
  /** Default `0.0.0.0`. */
  readonly httpAddress?: string;
  /** Default 8000. */
  readonly httpPort?: number;
  /** Largest size in bytes of the JSON of a request. Default 67108864. */
  readonly httpMaxInputSize?: number;
  /**
   * HTTP headers whose name matches this regular expression somewhere, whatever the case, reach the callable as
   * parameters. Default: none.
   */
  readonly httpHeaderForwardPattern?: string;
  /**
   * Origins (`https://example.org`) whose pages may call the server from a browser, or `*` for all. Default: none, as
   * Triton.
   */
  readonly corsAllowOrigin?: string | readonly string[];
  /** Default true. */
  readonly allowGrpc?: boolean;
  /** Default `0.0.0.0`. */
  readonly grpcAddress?: string;
  /** Default 8001. */
  readonly grpcPort?: number;
  /** Largest size in bytes of a gRPC message. Default 2147483647, as Triton's. */
  readonly grpcMaxMessageSize?: number;
  /** The same as `httpHeaderForwardPattern` for the metadata of gRPC calls. */
  readonly grpcHeaderForwardPattern?: string;
  /** Serves gRPC over TLS. Default false. */
  readonly grpcUseSsl?: boolean;
  /** Serves gRPC over TLS to clients whose certificate `grpcRootCert` vouches for. Default false. */
  readonly grpcUseSslMutual?: boolean;
  /** Path of the server's certificate, a PEM file; intermediate ones follow it there. */
  readonly grpcServerCert?: string;
  /** Path of the certificate's private key, a PEM file. */
  readonly grpcServerKey?: string;
  /** Path of the certificates that vouch for those of clients, a PEM file. */
  readonly grpcRootCert?: string;
  /** How hard answers of inference are compressed for clients that accept that. Default `none`. */
  readonly grpcInferResponseCompressionLevel?: CompressionLevel;
  /** Milliseconds of silence after which a client is pinged. Default 7200000. */
  readonly grpcKeepaliveTime?: number;
  /** Milliseconds that a client has to answer a ping before its connection is closed. Default 20000. */
  readonly grpcKeepaliveTimeout?: number;
  /** Whether clients without calls are pinged, and may ping as often as others. Default false. */
  readonly grpcKeepalivePermitWithoutCalls?: boolean;
  /** How many pings are sent until there is something else to send; 0: any number. Default 2. */
  readonly grpcHttp2MaxPingsWithoutData?: number;
  /** The least milliseconds between pings of a client to which nothing was sent meanwhile. Default 300000. */
  readonly grpcHttp2MinRecvPingIntervalWithoutData?: number;
  /** How many pings of a client may come sooner before its connection is closed; 0: any number. Default 2. */
  readonly grpcHttp2MaxPingStrikes?: number;
  /** Default true. */
  readonly allowMetrics?: boolean;
  /** Default: the HTTP address. */
  readonly metricsAddress?: string;
  /** Default 8002. */
  readonly metricsPort?: number;
  /**
   * Triton's settings of metrics: `summary_latencies=true`, `summary_quantiles=0.5:0.05,0.9:0.01`,
   * `histogram_latencies=true`, `counter_latencies=false`. Default: counters alone.
   */
  readonly metricsConfig?: string | readonly string[];
  /** How old figures of the machine's processors and memory may be. Default 2000. */
  readonly metricsIntervalMs?: number;
  /** Whether metrics show the machine's processors and memory, where /proc tells them. Default true. */
  readonly allowCpuMetrics?: boolean;
  /** There are none: what computes on a GPU is the callable's business. Default false; true is refused. */
  readonly allowGpuMetrics?: boolean;
  /**
   * What clients send to reach the restricted endpoints: over HTTP as `triton-access-token`, over gRPC as
   * `triton-grpc-protocol-triton-access-token`. Default: a random one, see `triton.accessToken`.
   */
  readonly accessToken?: string;
  /**
   * The endpoints that want the access token. Default: shared-memory, model-repository, trace, logging; `[]` opens
   * everything. The others are health, metadata, inference, model-config and statistics.
   */
  readonly restrictedEndpoints?: readonly string[];
  /** Further restrictions of HTTP endpoints, as `api,api:key=value`: requests need a header `key` with that value. */
  readonly httpRestrictedApi?: string | readonly string[];
  /** The same for gRPC, where the header is `triton-grpc-protocol-key`. */
  readonly grpcRestrictedProtocol?: string | readonly string[];
  /** Whether clients may register shared memory of this machine for inputs and outputs. Default false. */
  readonly allowClientShm?: boolean;
  /** Whether a model that is not ready keeps the server from being ready. Default true. */
  readonly strictReadiness?: boolean;
  /** `explicit` lets clients load and unload models; then only those of `loadModel` are loaded at first. Default `none`. */
  readonly modelControlMode?: 'none' | 'explicit';
  /** Names of the models that are loaded at first, `*` for all. Default none. */
  readonly loadModel?: string | readonly string[];
  /**
   * The cache for answers of models with `responseCache: true`, as `local,size=1048576` with its bytes for all of them
   * together. Default: none.
   */
  readonly cacheConfig?: string | readonly string[];
  /** The same as `cacheConfig: 'local,size=…'`. */
  readonly responseCacheByteSize?: number;
  /** Serves Vertex AI's routes. Default: whether the environment says so (`AIP_MODE=PREDICTION`). */
  readonly allowVertexAi?: boolean;
  /** Default: `AIP_HTTP_PORT` of the environment, or 8080. */
  readonly vertexAiPort?: number;
  /** The model that predictions of Vertex AI are of. Default: the only one that is loaded. */
  readonly vertexAiDefaultModel?: string;
  /** Serves SageMaker's routes. Default false. */
  readonly allowSagemaker?: boolean;
  /** Default 8080. */
  readonly sagemakerPort?: number;
  /** The ports that endpoints other than SageMaker's may have, as `21000-22000`. */
  readonly sagemakerSafePortRange?: string;
  /** Whether lines of this kind are logged. Default true. */
  readonly logInfo?: boolean;
  /** Whether lines of this kind are logged. Default true. */
  readonly logWarning?: boolean;
  /** Whether lines of this kind are logged. Default true. */
  readonly logError?: boolean;
  /** How the time is written. Default `default`. */
  readonly logFormat?: LogFormat;
  /** Verbose log lines up to this level; 0 (default) writes none. */
  readonly logVerbose?: number;
  /** Appends the log to this file. Default: standard error. */
  readonly logFile?: string;
  /** How long `stop()` lets requests under way finish. Default 30. */
  readonly exitTimeoutSecs?: number;
  /** Whether a model that fails to load makes `run()` fail. Default true. */
  readonly exitOnError?: boolean;
  /** Runs the server in a thread of its own, so that a callable that computes does not stop it. Default true. */
  readonly serverThread?: boolean;
}

type WithoutDefault =
  | 'logFile'
  | 'responseCacheByteSize'
  | 'vertexAiDefaultModel'
  | 'sagemakerSafePortRange'
  | 'httpHeaderForwardPattern'
  | 'grpcHeaderForwardPattern'
  | 'grpcServerCert'
  | 'grpcServerKey'
  | 'grpcRootCert';
type Parsed = 'loadModel' | 'corsAllowOrigin' | 'metricsConfig';
type Restriction = 'accessToken' | 'restrictedEndpoints' | 'httpRestrictedApi' | 'grpcRestrictedProtocol';

/** Every option with its value; restrictions are apart, as tables. */
export type CompleteTritonConfig = {
  readonly [K in Exclude<keyof TritonConfig, WithoutDefault | Restriction | Parsed | 'cacheConfig'>]-?: Exclude<
    TritonConfig[K],
    undefined
  >;
} & {
  readonly [K in WithoutDefault]: TritonConfig[K] | undefined;
} & {
  readonly loadModel: readonly string[];
  readonly corsAllowOrigin: readonly string[];
  readonly metricsConfig: MetricsConfig;
};

const PORT: OptionKind = [0, 65_535];
const SIZE: OptionKind = [1, 2_147_483_647];
const COUNT: OptionKind = [0, 2_147_483_647];

const KINDS: Readonly<Record<keyof TritonConfig, OptionKind>> = {
  id: 'string',
  allowHttp: 'boolean',
  httpAddress: 'string',
  httpPort: PORT,
  httpMaxInputSize: SIZE,
  httpHeaderForwardPattern: 'string',
  corsAllowOrigin: { separator: ',' },
  allowGrpc: 'boolean',
  grpcAddress: 'string',
  grpcPort: PORT,
  grpcMaxMessageSize: SIZE,
  grpcHeaderForwardPattern: 'string',
  grpcUseSsl: 'boolean',
  grpcUseSslMutual: 'boolean',
  grpcServerCert: 'string',
  grpcServerKey: 'string',
  grpcRootCert: 'string',
  grpcInferResponseCompressionLevel: { choices: COMPRESSION_LEVELS },
  grpcKeepaliveTime: SIZE,
  grpcKeepaliveTimeout: SIZE,
  grpcKeepalivePermitWithoutCalls: 'boolean',
  grpcHttp2MaxPingsWithoutData: COUNT,
  grpcHttp2MinRecvPingIntervalWithoutData: COUNT,
  grpcHttp2MaxPingStrikes: COUNT,
  allowMetrics: 'boolean',
  metricsAddress: 'string',
  metricsPort: PORT,
  metricsConfig: { separator: ';' },
  metricsIntervalMs: SIZE,
  allowCpuMetrics: 'boolean',
  allowGpuMetrics: 'boolean',
  accessToken: 'string',
  restrictedEndpoints: { separator: ',' },
  httpRestrictedApi: { separator: ';' },
  grpcRestrictedProtocol: { separator: ';' },
  allowClientShm: 'boolean',
  strictReadiness: 'boolean',
  modelControlMode: { choices: ['none', 'explicit'] },
  loadModel: { separator: ',' },
  cacheConfig: { separator: ';' },
  responseCacheByteSize: [1, Number.MAX_SAFE_INTEGER],
  allowVertexAi: 'boolean',
  vertexAiPort: PORT,
  vertexAiDefaultModel: 'string',
  allowSagemaker: 'boolean',
  sagemakerPort: PORT,
  sagemakerSafePortRange: 'string',
  logInfo: 'boolean',
  logWarning: 'boolean',
  logError: 'boolean',
  logFormat: { choices: LOG_FORMATS },
  logVerbose: [0, 2_147_483_647],
  logFile: 'string',
  exitTimeoutSecs: [0, 2_147_483],
  exitOnError: 'boolean',
  serverThread: 'boolean',
};

/** Triton's and PyTriton's options that this version does not serve: refused by name. */
const UNSUPPORTED = [
  'modelRepository',
  'httpThreadCount',
  'grpcInferAllocationPoolSize',
  'sagemakerThreadCount',
  'vertexAiThreadCount',
  'traceConfig',
  'cacheDirectory',
  'bufferManagerThreadCount',
  'maxInflightBytes',
];

// The later prefix wins.
const PREFIXES = ['PYTRITON_TRITON_CONFIG_', 'TSTRITON_CONFIG_'];

export interface ReadTritonConfig {
  readonly config: CompleteTritonConfig;
  readonly restrictions: Restrictions;
  /** What Vertex AI and SageMaker said in the environment; undefined where they are not served. */
  readonly vertexAi: VertexAiRoutes | undefined;
  readonly sagemaker: SagemakerSettings | undefined;
  /** For the log: variables that nobody understands. */
  readonly warnings: readonly string[];
}

/** Throws INVALID_ARG or UNSUPPORTED naming the option or variable, what was got and what was expected. */
export function readTritonConfig(
  given: TritonConfig,
  environment: Readonly<Record<string, string | undefined>>,
): ReadTritonConfig {
  checkGiven(given);
  const { values, warnings } = readEnvironment(environment);
  const merged: TritonConfig = { ...values, ...definedOf(given) };
  // In its own environment Vertex AI is the only one to call, unless the others are asked for.
  const prediction = environment['AIP_MODE'] === 'PREDICTION';
  const config: CompleteTritonConfig = {
    id: merged.id ?? 'triton',
    allowHttp: merged.allowHttp ?? !prediction,
    httpAddress: merged.httpAddress ?? '0.0.0.0',
    httpPort: merged.httpPort ?? 8000,
    httpMaxInputSize: merged.httpMaxInputSize ?? 67_108_864,
    httpHeaderForwardPattern: merged.httpHeaderForwardPattern,
    corsAllowOrigin: parseOrigins(listOf(merged.corsAllowOrigin), 'corsAllowOrigin'),
    allowGrpc: merged.allowGrpc ?? !prediction,
    grpcAddress: merged.grpcAddress ?? '0.0.0.0',
    grpcPort: merged.grpcPort ?? 8001,
    grpcMaxMessageSize: merged.grpcMaxMessageSize ?? 2_147_483_647,
    grpcHeaderForwardPattern: merged.grpcHeaderForwardPattern,
    grpcUseSsl: merged.grpcUseSsl ?? false,
    grpcUseSslMutual: merged.grpcUseSslMutual ?? false,
    grpcServerCert: merged.grpcServerCert,
    grpcServerKey: merged.grpcServerKey,
    grpcRootCert: merged.grpcRootCert,
    grpcInferResponseCompressionLevel: merged.grpcInferResponseCompressionLevel ?? 'none',
    grpcKeepaliveTime: merged.grpcKeepaliveTime ?? 7_200_000,
    grpcKeepaliveTimeout: merged.grpcKeepaliveTimeout ?? 20_000,
    grpcKeepalivePermitWithoutCalls: merged.grpcKeepalivePermitWithoutCalls ?? false,
    grpcHttp2MaxPingsWithoutData: merged.grpcHttp2MaxPingsWithoutData ?? 2,
    grpcHttp2MinRecvPingIntervalWithoutData: merged.grpcHttp2MinRecvPingIntervalWithoutData ?? 300_000,
    grpcHttp2MaxPingStrikes: merged.grpcHttp2MaxPingStrikes ?? 2,
    allowMetrics: merged.allowMetrics ?? true,
    metricsAddress: merged.metricsAddress ?? merged.httpAddress ?? '0.0.0.0',
    metricsPort: merged.metricsPort ?? 8002,
    metricsConfig: parseMetricsConfig(listOf(merged.metricsConfig)),
    metricsIntervalMs: merged.metricsIntervalMs ?? 2000,
    allowCpuMetrics: merged.allowCpuMetrics ?? true,
    allowGpuMetrics: merged.allowGpuMetrics ?? false,
    allowClientShm: merged.allowClientShm ?? false,
    strictReadiness: merged.strictReadiness ?? true,
    modelControlMode: merged.modelControlMode ?? 'none',
    loadModel: listOf(merged.loadModel),
    responseCacheByteSize: parseCacheConfig(listOf(merged.cacheConfig), merged.responseCacheByteSize),
    allowVertexAi: merged.allowVertexAi ?? prediction,
    vertexAiPort: merged.vertexAiPort ?? vertexAiPortOf(environment),
    vertexAiDefaultModel: merged.vertexAiDefaultModel,
    allowSagemaker: merged.allowSagemaker ?? false,
    sagemakerPort: merged.sagemakerPort ?? 8080,
    sagemakerSafePortRange: merged.sagemakerSafePortRange,
    logInfo: merged.logInfo ?? true,
    logWarning: merged.logWarning ?? true,
    logError: merged.logError ?? true,
    logFormat: merged.logFormat ?? 'default',
    logVerbose: merged.logVerbose ?? 0,
    logFile: merged.logFile,
    exitTimeoutSecs: merged.exitTimeoutSecs ?? 30,
    exitOnError: merged.exitOnError ?? true,
    serverThread: merged.serverThread ?? true,
  };
  checkTogether(config);
  const restrictions = parseRestrictions({
    accessToken: merged.accessToken,
    restrictedEndpoints: merged.restrictedEndpoints && listOf(merged.restrictedEndpoints),
    httpRestrictedApi: listOf(merged.httpRestrictedApi),
    grpcRestrictedProtocol: listOf(merged.grpcRestrictedProtocol),
  });
  return {
    config,
    restrictions,
    vertexAi: config.allowVertexAi ? vertexAiRoutes(environment) : undefined,
    sagemaker: config.allowSagemaker ? sagemakerSettings(environment) : undefined,
    warnings,
  };
}

/** Options that do not go together, and ports out of the range that SageMaker allows. */
function checkTogether(config: CompleteTritonConfig): void {
  if (!config.allowHttp && !config.allowGrpc && !config.allowVertexAi && !config.allowSagemaker) {
    throw new TritonError(
      'INVALID_ARG',
      'the HTTP or the gRPC endpoint has to be allowed, got allowHttp: false and allowGrpc: false',
    );
  }
  const { loadModel, modelControlMode } = config;
  if (loadModel.length > 0 && modelControlMode !== 'explicit') {
    throw new TritonError('INVALID_ARG', "loadModel needs modelControlMode: 'explicit', got 'none'");
  }
  if (loadModel.length > 1 && loadModel.includes('*')) {
    throw new TritonError('INVALID_ARG', "loadModel must be '*' alone or names of models, got both");
  }
  if (config.allowGpuMetrics) {
    throw new TritonError('UNSUPPORTED', 'allowGpuMetrics: TSTriton has no GPU metrics, expected false');
  }
  checkHeaderPattern(config.httpHeaderForwardPattern, 'httpHeaderForwardPattern');
  checkHeaderPattern(config.grpcHeaderForwardPattern, 'grpcHeaderForwardPattern');
  // For what it refuses.
  grpcSettings(config);
  checkSafePorts(config.sagemakerSafePortRange, {
    HTTP: config.allowHttp ? config.httpPort : undefined,
    GRPC: config.allowGrpc ? config.grpcPort : undefined,
    metrics: config.allowMetrics ? config.metricsPort : undefined,
    'Vertex AI': config.allowVertexAi ? config.vertexAiPort : undefined,
  });
}

function vertexAiPortOf(environment: Readonly<Record<string, string | undefined>>): number {
  const text = environment['AIP_HTTP_PORT'];
  return text === undefined || text === '' ? 8080 : (parseOption(PORT, text, 'AIP_HTTP_PORT') as number);
}

function listOf(value: string | readonly string[] | undefined): readonly string[] {
  return value === undefined ? [] : typeof value === 'string' ? [value] : value;
}

function definedOf(given: TritonConfig): TritonConfig {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

function isOption(name: string): name is keyof TritonConfig {
  return Object.hasOwn(KINDS, name);
}

function checkGiven(given: TritonConfig): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new TritonError(
      'INVALID_ARG',
      `TritonConfig must be an object, got ${Array.isArray(given) ? 'a list' : String(given)}`,
    );
  }
  for (const [name, value] of Object.entries(given)) {
    if (UNSUPPORTED.includes(name)) throw unsupported(name);
    if (!isOption(name)) {
      const hint = nearest(name, Object.keys(KINDS));
      throw new TritonError(
        'INVALID_ARG',
        `TritonConfig has an unknown option '${name}'${hint === undefined ? '' : `; did you mean '${hint}'?`}`,
      );
    }
    if (value !== undefined) checkOption(KINDS[name], value, name);
  }
}

function unsupported(what: string): TritonError {
  return new TritonError('UNSUPPORTED', `${what} is not supported by this version of TSTriton`);
}

function readEnvironment(environment: Readonly<Record<string, string | undefined>>): {
  readonly values: TritonConfig;
  readonly warnings: readonly string[];
} {
  const values: Record<string, unknown> = {};
  const warnings: string[] = [];
  for (const prefix of PREFIXES) {
    for (const [variable, text] of Object.entries(environment)) {
      if (text === undefined || !variable.startsWith(prefix)) continue;
      const name = optionOf(variable.slice(prefix.length));
      if (UNSUPPORTED.includes(name) || UNSUPPORTED.includes(name.replace(/[0-9]+$/, ''))) throw unsupported(variable);
      if (isOption(name)) {
        values[name] = parseOption(KINDS[name], text, variable);
      } else {
        const hint = nearest(name, Object.keys(KINDS));
        warnings.push(
          `unknown environment variable ${variable}${hint === undefined ? '' : `, did you mean ${prefix}${variableOf(hint)}?`}`,
        );
      }
    }
  }
  return { values: values as TritonConfig, warnings };
}

function optionOf(suffix: string): string {
  const name = suffix.toLowerCase().replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  // PyTriton's documentation calls it so.
  return name === 'logVerbosity' ? 'logVerbose' : name;
}

function variableOf(option: string): string {
  return option.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}
