// Every option with its value: the defaults are here, and what does not go together.

import { TritonError } from '../errors.js';
import type { TraceStart } from '../model/trace-settings.js';
import { checkHeaderPattern } from './check-header-pattern.js';
import { grpcSettings } from './grpc-settings.js';
import { checkSafePorts } from './hosting-environment.js';
import { listOf } from './option-value.js';
import { parseCacheConfig } from './parse-cache-config.js';
import { parseMetricsConfig, type MetricsConfig } from './parse-metrics-config.js';
import { parseOrigins } from './parse-origins.js';
import { parseTraceConfig } from './parse-trace-config.js';
import type { TritonConfig } from './triton-config.js';

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
type Parsed = 'loadModel' | 'corsAllowOrigin' | 'metricsConfig' | 'traceConfig';
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
  /** Undefined: nothing is traced. */
  readonly traceConfig: TraceStart | undefined;
};

/** What Vertex AI says in the environment. */
export interface VertexAiDefaults {
  /** In its own environment Vertex AI is the only one to call, unless the others are asked for. */
  readonly prediction: boolean;
  readonly port: number;
}

/** Throws INVALID_ARG or UNSUPPORTED naming the option, what was got and what was expected. */
export function completeTritonConfig(given: TritonConfig, vertexAi: VertexAiDefaults): CompleteTritonConfig {
  const config: CompleteTritonConfig = {
    id: given.id ?? 'triton',
    allowHttp: given.allowHttp ?? !vertexAi.prediction,
    httpAddress: given.httpAddress ?? '0.0.0.0',
    httpPort: given.httpPort ?? 8000,
    httpMaxInputSize: given.httpMaxInputSize ?? 67_108_864,
    httpHeaderForwardPattern: given.httpHeaderForwardPattern,
    corsAllowOrigin: parseOrigins(listOf(given.corsAllowOrigin), 'corsAllowOrigin'),
    allowGrpc: given.allowGrpc ?? !vertexAi.prediction,
    grpcAddress: given.grpcAddress ?? '0.0.0.0',
    grpcPort: given.grpcPort ?? 8001,
    grpcMaxMessageSize: given.grpcMaxMessageSize ?? 2_147_483_647,
    grpcHeaderForwardPattern: given.grpcHeaderForwardPattern,
    grpcUseSsl: given.grpcUseSsl ?? false,
    grpcUseSslMutual: given.grpcUseSslMutual ?? false,
    grpcServerCert: given.grpcServerCert,
    grpcServerKey: given.grpcServerKey,
    grpcRootCert: given.grpcRootCert,
    grpcInferResponseCompressionLevel: given.grpcInferResponseCompressionLevel ?? 'none',
    grpcKeepaliveTime: given.grpcKeepaliveTime ?? 7_200_000,
    grpcKeepaliveTimeout: given.grpcKeepaliveTimeout ?? 20_000,
    grpcKeepalivePermitWithoutCalls: given.grpcKeepalivePermitWithoutCalls ?? false,
    grpcHttp2MaxPingsWithoutData: given.grpcHttp2MaxPingsWithoutData ?? 2,
    grpcHttp2MinRecvPingIntervalWithoutData: given.grpcHttp2MinRecvPingIntervalWithoutData ?? 300_000,
    grpcHttp2MaxPingStrikes: given.grpcHttp2MaxPingStrikes ?? 2,
    allowMetrics: given.allowMetrics ?? true,
    metricsAddress: given.metricsAddress ?? given.httpAddress ?? '0.0.0.0',
    metricsPort: given.metricsPort ?? 8002,
    metricsConfig: parseMetricsConfig(listOf(given.metricsConfig)),
    metricsIntervalMs: given.metricsIntervalMs ?? 2000,
    allowCpuMetrics: given.allowCpuMetrics ?? true,
    allowGpuMetrics: given.allowGpuMetrics ?? false,
    allowClientShm: given.allowClientShm ?? false,
    strictReadiness: given.strictReadiness ?? true,
    modelControlMode: given.modelControlMode ?? 'none',
    loadModel: listOf(given.loadModel),
    responseCacheByteSize: parseCacheConfig(listOf(given.cacheConfig), given.responseCacheByteSize),
    allowVertexAi: given.allowVertexAi ?? vertexAi.prediction,
    vertexAiPort: given.vertexAiPort ?? vertexAi.port,
    vertexAiDefaultModel: given.vertexAiDefaultModel,
    allowSagemaker: given.allowSagemaker ?? false,
    sagemakerPort: given.sagemakerPort ?? 8080,
    sagemakerSafePortRange: given.sagemakerSafePortRange,
    logInfo: given.logInfo ?? true,
    logWarning: given.logWarning ?? true,
    logError: given.logError ?? true,
    logFormat: given.logFormat ?? 'default',
    logVerbose: given.logVerbose ?? 0,
    logFile: given.logFile,
    shutdownDelaySecs: given.shutdownDelaySecs ?? 0,
    exitTimeoutSecs: given.exitTimeoutSecs ?? 30,
    exitOnError: given.exitOnError ?? true,
    serverThread: given.serverThread ?? true,
    traceConfig: parseTraceConfig(listOf(given.traceConfig)),
  };
  checkTogether(config);
  return config;
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
