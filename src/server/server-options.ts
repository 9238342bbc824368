// What a server is started with, and how that follows from what users configured.

import { grpcSettings } from '../config/grpc-settings.js';
import type { MetricsConfig } from '../config/parse-metrics-config.js';
import type { ReadTritonConfig } from '../config/read-triton-config.js';
import { tlsFiles } from '../config/tls-files.js';
import type { ModelControlMode } from '../core/model-control.js';
import type { GrpcFrontendOptions } from '../frontend/grpc/grpc-frontend.js';
import type { HttpServiceOptions } from '../frontend/http/http-service.js';
import type { MetricsOptions } from '../frontend/metrics/metrics-report.js';
import type { TlsFiles } from '../frontend/port-tls.js';
import type { SagemakerServiceOptions } from '../frontend/sagemaker/sagemaker-service.js';
import type { VertexAiServiceOptions } from '../frontend/vertex-ai/vertex-ai-service.js';
import type { LogSettings } from '../logger.js';
import type { TraceStart } from '../model/traces.js';

/** The frontends by the prefixes of their options. */
export const FRONTENDS = ['http', 'grpc', 'metrics', 'vertexAi', 'sagemaker'] as const;
export type FrontendName = (typeof FRONTENDS)[number];

/** The real ports; undefined where a frontend is off. */
export type ServerPorts = Readonly<Record<FrontendName, number | undefined>>;

interface Place {
  readonly address: string;
  readonly port: number;
  /** Default: no TLS. */
  readonly tls?: TlsFiles | undefined;
}

/** In seconds; see the options `shutdownDelaySecs` and `exitTimeoutSecs`. */
export interface StopTimes {
  readonly delaySecs: number;
  /** Without a delay, for how long open connections are served on. */
  readonly graceSecs: number;
  readonly timeoutSecs: number;
}

/** Plain data that crosses threads. */
export interface ServerOptions {
  readonly id: string;
  readonly http: (Place & Omit<HttpServiceOptions, 'server'>) | undefined;
  readonly grpc: Omit<GrpcFrontendOptions, 'server' | 'logger' | 'openPort' | 'budget' | 'limit' | 'hosts'> | undefined;
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
  /** Undefined: there is no response cache. */
  readonly responseCacheByteSize: number | undefined;
  /** Empty: all. */
  readonly allowedHosts: readonly string[];
  readonly allowClientShm: boolean;
  /** Of clients' requests and answers, on all ports together. */
  readonly maxInflightBytes: number;
  /** On all ports together, without that of metrics. */
  readonly maxConnections: number;
  readonly logFile: string | undefined;
  /** Whether the entries of the log go to a logger of the user's, which is in the user's thread. */
  readonly hasLogger: boolean;
  readonly logSettings: LogSettings;
  /** Undefined: nothing is traced. */
  readonly tracing: TraceStart | undefined;
}

/** The same options for a server in the place of another one, whose ports are to be found where they were. */
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

export function serverOptions({ config, restrictions, vertexAi, sagemaker }: ReadTritonConfig): ServerOptions {
  const http = {
    address: config.httpAddress,
    maxInputSize: config.httpMaxInputSize,
    restrictions: restrictions.http,
  };
  return {
    id: config.id,
    http: config.allowHttp
      ? {
          ...http,
          port: config.httpPort,
          headerForwardPattern: config.httpHeaderForwardPattern,
          corsAllowOrigin: config.corsAllowOrigin,
          tls: tlsFiles(config, 'http'),
        }
      : undefined,
    grpc: config.allowGrpc
      ? {
          address: config.grpcAddress,
          port: config.grpcPort,
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
