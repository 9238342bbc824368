// The server's configuration: Triton's flags in camelCase, from the constructor, then the environment, then the
// defaults. What is not understood is refused (constructor) or warned about (environment), never ignored.

import { TritonError } from './errors.js';
import { expectBoolean, expectInteger } from './model/check.js';
import { nearest } from './model/nearest.js';

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
  /** Default true. */
  readonly allowGrpc?: boolean;
  /** Default `0.0.0.0`. */
  readonly grpcAddress?: string;
  /** Default 8001. */
  readonly grpcPort?: number;
  /** Largest size in bytes of a gRPC message. Default 2147483647, as Triton's. */
  readonly grpcMaxMessageSize?: number;
  /** Default true. */
  readonly allowMetrics?: boolean;
  /** Default: the HTTP address. */
  readonly metricsAddress?: string;
  /** Default 8002. */
  readonly metricsPort?: number;
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

export type CompleteTritonConfig = {
  readonly [K in Exclude<keyof TritonConfig, 'logFile'>]-?: Exclude<TritonConfig[K], undefined>;
} & {
  readonly logFile: string | undefined;
};

type Kind = 'boolean' | 'string' | readonly [least: number, most: number];

const PORT: Kind = [0, 65_535];
const SIZE: Kind = [1, 2_147_483_647];

const KINDS: Readonly<Record<keyof TritonConfig, Kind>> = {
  id: 'string',
  allowHttp: 'boolean',
  httpAddress: 'string',
  httpPort: PORT,
  httpMaxInputSize: SIZE,
  allowGrpc: 'boolean',
  grpcAddress: 'string',
  grpcPort: PORT,
  grpcMaxMessageSize: SIZE,
  allowMetrics: 'boolean',
  metricsAddress: 'string',
  metricsPort: PORT,
  logVerbose: [0, 2_147_483_647],
  logFile: 'string',
  exitTimeoutSecs: [0, 2_147_483],
  exitOnError: 'boolean',
  serverThread: 'boolean',
};

/** Triton's and PyTriton's options that this version does not serve: refused by name. */
const UNSUPPORTED = [
  'modelRepository',
  'strictReadiness',
  'httpHeaderForwardPattern',
  'httpThreadCount',
  'httpRestrictedApi',
  'grpcHeaderForwardPattern',
  'grpcInferAllocationPoolSize',
  'grpcUseSsl',
  'grpcUseSslMutual',
  'grpcServerCert',
  'grpcServerKey',
  'grpcRootCert',
  'grpcInferResponseCompressionLevel',
  'grpcKeepaliveTime',
  'grpcKeepaliveTimeout',
  'grpcKeepalivePermitWithoutCalls',
  'grpcHttp2MaxPingsWithoutData',
  'grpcHttp2MinRecvPingIntervalWithoutData',
  'grpcHttp2MaxPingStrikes',
  'grpcRestrictedProtocol',
  'allowGpuMetrics',
  'allowCpuMetrics',
  'metricsIntervalMs',
  'allowSagemaker',
  'sagemakerPort',
  'sagemakerSafePortRange',
  'sagemakerThreadCount',
  'allowVertexAi',
  'vertexAiPort',
  'vertexAiThreadCount',
  'vertexAiDefaultModel',
  'metricsConfig',
  'traceConfig',
  'cacheConfig',
  'cacheDirectory',
  'responseCacheByteSize',
  'bufferManagerThreadCount',
  'accessToken',
  'restrictedEndpoints',
  'corsAllowOrigin',
  'maxInflightBytes',
  'modelControlMode',
  'loadModel',
  'allowClientShm',
  'logInfo',
  'logWarning',
  'logError',
  'logFormat',
];

// The later prefix wins.
const PREFIXES = ['PYTRITON_TRITON_CONFIG_', 'TSTRITON_CONFIG_'];

export interface ReadTritonConfig {
  readonly config: CompleteTritonConfig;
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
  const config: CompleteTritonConfig = {
    id: merged.id ?? 'triton',
    allowHttp: merged.allowHttp ?? true,
    httpAddress: merged.httpAddress ?? '0.0.0.0',
    httpPort: merged.httpPort ?? 8000,
    httpMaxInputSize: merged.httpMaxInputSize ?? 67_108_864,
    allowGrpc: merged.allowGrpc ?? true,
    grpcAddress: merged.grpcAddress ?? '0.0.0.0',
    grpcPort: merged.grpcPort ?? 8001,
    grpcMaxMessageSize: merged.grpcMaxMessageSize ?? 2_147_483_647,
    allowMetrics: merged.allowMetrics ?? true,
    metricsAddress: merged.metricsAddress ?? merged.httpAddress ?? '0.0.0.0',
    metricsPort: merged.metricsPort ?? 8002,
    logVerbose: merged.logVerbose ?? 0,
    logFile: merged.logFile,
    exitTimeoutSecs: merged.exitTimeoutSecs ?? 30,
    exitOnError: merged.exitOnError ?? true,
    serverThread: merged.serverThread ?? true,
  };
  if (!config.allowHttp && !config.allowGrpc) {
    throw new TritonError(
      'INVALID_ARG',
      'the HTTP or the gRPC endpoint has to be allowed, got allowHttp: false and allowGrpc: false',
    );
  }
  return { config, warnings };
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
    if (value !== undefined) checkValue(KINDS[name], value, name);
  }
}

function unsupported(what: string): TritonError {
  return new TritonError('UNSUPPORTED', `${what} is not supported by this version of TSTriton`);
}

function checkValue(kind: Kind, value: unknown, what: string): void {
  if (kind === 'boolean') expectBoolean(value, what);
  else if (kind !== 'string') expectInteger(value, kind[0], kind[1], what);
  else if (typeof value !== 'string' || value === '') {
    throw new TritonError(
      'INVALID_ARG',
      `${what} must be a non-empty string, got ${value === '' ? "''" : typeof value}`,
    );
  }
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
        values[name] = parseValue(KINDS[name], text, variable);
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

const BOOLEANS: Readonly<Record<string, boolean>> = {
  true: true,
  on: true,
  yes: true,
  1: true,
  false: false,
  off: false,
  no: false,
  0: false,
};

function parseValue(kind: Kind, text: string, variable: string): unknown {
  if (kind === 'string') {
    checkValue(kind, text, variable);
    return text;
  }
  if (kind === 'boolean') {
    const key = text.trim().toLowerCase();
    if (Object.hasOwn(BOOLEANS, key)) return BOOLEANS[key];
    throw new TritonError(
      'INVALID_ARG',
      `${variable} must be true or false (or on, off, yes, no, 1, 0), got ${JSON.stringify(text)}`,
    );
  }
  if (!/^-?[0-9]+$/.test(text.trim()))
    throw new TritonError('INVALID_ARG', `${variable} must be an integer, got ${JSON.stringify(text)}`);
  return expectInteger(Number(text.trim()), kind[0], kind[1], variable);
}
