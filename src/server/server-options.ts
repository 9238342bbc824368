// Makes the start options of a server from the user's configuration.

import { grpcSettings } from '../config/grpc-settings.js';
import type { MetricsConfig } from '../config/parse-metrics-config.js';
import type { ReadTritonConfig } from '../config/read-triton-config.js';
import { tlsFiles } from '../config/tls-files.js';
import type { ModelControlMode } from '../core/model-control.js';
import { invalidArg } from '../errors.js';
import type { GrpcFrontendOptions } from '../frontend/grpc/grpc-frontend.js';
import type { HttpServiceOptions } from '../frontend/http/http-service.js';
import type { MetricsOptions } from '../frontend/metrics/metrics-report.js';
import type { TlsFiles } from '../frontend/port-tls.js';
import type { SagemakerServiceOptions } from '../frontend/sagemaker/sagemaker-service.js';
import type { VertexAiServiceOptions } from '../frontend/vertex-ai/vertex-ai-service.js';
import type { LogSettings } from '../logger.js';
import { LONGEST_SOCKET_PATH } from '../sockets/unix-socket.js';
import type { TraceStart } from '../observability/traces.js';
import type { InProcessRun } from '../frontend/served-core.js';

/** The frontends by the prefixes of their options. */
export const FRONTENDS = ['http', 'grpc', 'metrics', 'vertexAi', 'sagemaker'] as const;
export type FrontendName = (typeof FRONTENDS)[number];

/** The real ports; undefined where a frontend is off. */
export type ServerPorts = Readonly<Record<FrontendName, number | undefined>>;

export const NO_PORTS: ServerPorts = {
  http: undefined,
  grpc: undefined,
  metrics: undefined,
  vertexAi: undefined,
  sagemaker: undefined,
};

interface Place {
  readonly address: string;
  readonly port: number;
  /** Default: no TLS. */
  readonly tls?: TlsFiles | undefined;
}

/** In seconds; see the options `shutdownDelaySecs` and `exitTimeoutSecs`. */
export interface StopTimes {
  readonly delaySecs: number;
  /** How long open connections are served without a delay. */
  readonly graceSecs: number;
  readonly timeoutSecs: number;
}

/** Plain data that crosses threads. */
export interface ServerOptions {
  readonly id: string;
  /** Of requests that handlers in other servers pass on. */
  readonly mounted: Omit<HttpServiceOptions, 'server'>;
  readonly inProcess: Omit<InProcessRun, 'core'>;
  readonly http: (Place & Omit<HttpServiceOptions, 'server'> & { readonly page: boolean }) | undefined;
  readonly grpc:
    Omit<GrpcFrontendOptions, 'server' | 'logger' | 'openPort' | 'budget' | 'limit' | 'hosts' | 'links'> | undefined;
  readonly metrics: (Place & MetricsConfig & MetricsOptions) | undefined;
  readonly vertexAi: (Place & Omit<VertexAiServiceOptions, 'server' | 'metrics'>) | undefined;
  readonly sagemaker: (Place & Omit<SagemakerServiceOptions, 'server'>) | undefined;
  readonly strictReadiness: boolean;
  readonly maskErrors: boolean;
  /** The folders of models; the user's thread reads them. */
  readonly modelRepository: readonly string[];
  readonly modelControlMode: ModelControlMode;
  /** In explicit mode, the models that are loaded when they are bound; `*` stands for all. */
  readonly loadModel: readonly string[];
  /** Undefined: the server has no response cache. */
  readonly responseCacheByteSize: number | undefined;
  /** Of processes that bind models; undefined where none may. */
  readonly remoteAccessToken: string | undefined;
  /** Empty for all names. */
  readonly allowedHosts: readonly string[];
  readonly allowClientShm: boolean;
  /** The limit for clients' requests and answers, on all ports together. */
  readonly maxInflightBytes: number;
  /** The limit for all ports together, without the metrics port. */
  readonly maxConnections: number;
  readonly logFile: string | undefined;
  /** Whether the log's entries go to the user's logger, which is in the user's thread. */
  readonly hasLogger: boolean;
  readonly logSettings: LogSettings;
  /** Undefined: nothing is traced. */
  readonly tracing: TraceStart | undefined;
}

/** The same options for a server that replaces a dead one, on the same ports. */
export function withPorts(options: ServerOptions, ports: ServerPorts): ServerOptions {
  const moved = FRONTENDS.map((name) => {
    const { [name]: own } = options;
    const port = ports[name];
    return [name, own && port !== undefined ? { ...own, port } : own] as const;
  });
  return { ...options, ...Object.fromEntries(moved) };
}

/** The options of a server in this process, which has no ports. */
export function withoutPorts(options: ServerOptions): ServerOptions {
  return { ...options, ...Object.fromEntries(FRONTENDS.map((name) => [name, undefined])) };
}

function remoteToken({ remoteAccessToken, allowGrpc }: ReadTritonConfig['config']): string | undefined {
  if (remoteAccessToken === undefined || allowGrpc) return remoteAccessToken;
  throw invalidArg('remoteAccessToken is for processes that come through the gRPC port, got allowGrpc: false');
}

function remoteSocket({ remoteSocket: path, remoteAccessToken }: ReadTritonConfig['config']): string | undefined {
  if (path === undefined) return undefined;
  if (remoteAccessToken === undefined) throw invalidArg('remoteSocket needs remoteAccessToken');
  if (path.startsWith('/') && Buffer.byteLength(path) <= LONGEST_SOCKET_PATH) return path;
  throw invalidArg(
    `remoteSocket must be the absolute path of a Unix socket, of at most ${LONGEST_SOCKET_PATH} bytes, got '${path}'`,
  );
}

/** Throws INVALID_ARG for options that do not go together. */
export function serverOptions({ config, restrictions, vertexAi, sagemaker }: ReadTritonConfig): ServerOptions {
  const http = {
    address: config.httpAddress,
    maxInputSize: config.httpMaxInputSize,
    restrictions: restrictions.http,
  };
  const mounted = {
    maxInputSize: config.httpMaxInputSize,
    restrictions: restrictions.http,
    headerForwardPattern: config.httpHeaderForwardPattern,
    corsAllowOrigin: config.corsAllowOrigin,
  };
  return {
    id: config.id,
    mounted,
    inProcess: { headerForwardPattern: config.grpcHeaderForwardPattern },
    http: config.allowHttp
      ? {
          ...mounted,
          address: config.httpAddress,
          port: config.httpPort,
          tls: tlsFiles(config, 'http'),
          page: config.allowPage,
        }
      : undefined,
    grpc: config.allowGrpc
      ? {
          address: config.grpcAddress,
          port: config.grpcPort,
          socketPath: remoteSocket(config),
          maxMessageSize: config.grpcMaxMessageSize,
          headerForwardPattern: config.grpcHeaderForwardPattern,
          ...grpcSettings(config),
          tls: tlsFiles(config, 'grpc'),
          restrictions: restrictions.grpc,
        }
      : undefined,
    metrics: config.allowMetrics
      ? {
          address: config.metricsAddress,
          port: config.metricsPort,
          intervalMs: config.metricsIntervalMs,
          cpu: config.allowCpuMetrics,
          ...config.metricsConfig,
        }
      : undefined,
    vertexAi: vertexAi && {
      ...http,
      ...vertexAi,
      port: config.vertexAiPort,
      defaultModel: config.vertexAiDefaultModel,
    },
    sagemaker: sagemaker && { ...http, ...sagemaker, port: config.sagemakerPort },
    strictReadiness: config.strictReadiness,
    maskErrors: config.maskErrors,
    modelRepository: config.modelRepository,
    modelControlMode: config.modelControlMode,
    loadModel: config.loadModel,
    responseCacheByteSize: config.responseCacheByteSize,
    remoteAccessToken: remoteToken(config),
    allowedHosts: config.allowedHosts,
    allowClientShm: config.allowClientShm,
    maxInflightBytes: config.maxInflightBytes,
    maxConnections: config.maxConnections,
    logFile: config.logFile,
    hasLogger: config.logger !== undefined,
    logSettings: {
      error: config.logError,
      warning: config.logWarning,
      info: config.logInfo,
      verboseLevel: config.logVerbose,
      format: config.logFormat,
    },
    tracing: config.traceConfig,
  };
}
