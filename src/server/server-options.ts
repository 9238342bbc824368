// What a server is started with, and how that follows from what users configured.

import { grpcSettings, type GrpcSettings } from '../config/grpc-settings.js';
import type { MetricsConfig } from '../config/parse-metrics-config.js';
import type { ReadTritonConfig } from '../config/read-triton-config.js';
import type { ModelControlMode } from '../core/model-control.js';
import type { MetricsOptions } from '../frontend/metrics/metrics-report.js';
import type { Restriction } from '../frontend/restricted-features.js';
import type { SagemakerFrontendOptions } from '../frontend/sagemaker/sagemaker-frontend.js';
import type { VertexAiFrontendOptions } from '../frontend/vertex-ai/vertex-ai-frontend.js';
import type { LogSettings } from '../logger.js';
import type { TraceStart } from '../model/trace-settings.js';

/** The real ports; undefined where a frontend is off. */
export interface ServerPorts {
  readonly http: number | undefined;
  readonly grpc: number | undefined;
  readonly metrics: number | undefined;
  readonly vertexAi: number | undefined;
  readonly sagemaker: number | undefined;
}

/** Plain data that crosses threads. */
export interface ServerOptions {
  readonly id: string;
  readonly http:
    | {
        readonly address: string;
        readonly port: number;
        readonly maxInputSize: number;
        readonly headerForwardPattern: string | undefined;
        readonly corsAllowOrigin: readonly string[];
        readonly restrictions: readonly Restriction[];
      }
    | undefined;
  readonly grpc:
    | (GrpcSettings & {
        readonly address: string;
        readonly port: number;
        readonly maxMessageSize: number;
        readonly headerForwardPattern: string | undefined;
        readonly restrictions: readonly Restriction[];
      })
    | undefined;
  readonly metrics: (MetricsConfig & MetricsOptions & { readonly address: string; readonly port: number }) | undefined;
  readonly vertexAi: Omit<VertexAiFrontendOptions, 'server' | 'logger' | 'metrics'> | undefined;
  readonly sagemaker: Omit<SagemakerFrontendOptions, 'server' | 'logger'> | undefined;
  readonly strictReadiness: boolean;
  readonly modelControlMode: ModelControlMode;
  /** In explicit mode, the models that are loaded when they are bound; `*` stands for all. */
  readonly loadModel: readonly string[];
  /** Undefined: there is no response cache. */
  readonly responseCacheByteSize: number | undefined;
  readonly allowClientShm: boolean;
  readonly logFile: string | undefined;
  readonly logSettings: LogSettings;
  readonly exitTimeoutSecs: number;
  /** Undefined: nothing is traced. */
  readonly tracing: TraceStart | undefined;
}

/** The same options for a server in the place of another one, whose ports are to be found where they were. */
export function withPorts(options: ServerOptions, ports: ServerPorts): ServerOptions {
  return {
    ...options,
    http: at(options.http, ports.http),
    grpc: at(options.grpc, ports.grpc),
    metrics: at(options.metrics, ports.metrics),
    vertexAi: at(options.vertexAi, ports.vertexAi),
    sagemaker: at(options.sagemaker, ports.sagemaker),
  };
}

function at<Options extends object>(options: Options | undefined, port: number | undefined): Options | undefined {
  return options && port !== undefined ? { ...options, port } : options;
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
        }
      : undefined,
    grpc: config.allowGrpc
      ? {
          address: config.grpcAddress,
          port: config.grpcPort,
          maxMessageSize: config.grpcMaxMessageSize,
          headerForwardPattern: config.grpcHeaderForwardPattern,
          ...grpcSettings(config),
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
    modelControlMode: config.modelControlMode,
    loadModel: config.loadModel,
    responseCacheByteSize: config.responseCacheByteSize,
    allowClientShm: config.allowClientShm,
    logFile: config.logFile,
    logSettings: {
      error: config.logError,
      warning: config.logWarning,
      info: config.logInfo,
      verboseLevel: config.logVerbose,
      format: config.logFormat,
    },
    exitTimeoutSecs: config.exitTimeoutSecs,
    tracing: config.traceConfig,
  };
}
