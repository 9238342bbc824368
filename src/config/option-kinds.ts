// The options by name: what each holds, and those of Triton that there are not.

import { TritonError } from '../errors.js';
import { LOG_FORMATS } from '../logger.js';
import { nearest } from '../model/nearest.js';
import { COMPRESSION_LEVELS } from './grpc-settings.js';
import type { OptionKind } from './option-value.js';
import type { TritonConfig } from './triton-config.js';

export const PORT: OptionKind = [0, 65_535];
const SIZE: OptionKind = [1, 2_147_483_647];
const COUNT: OptionKind = [0, 2_147_483_647];

export const OPTION_KINDS: Readonly<Record<keyof TritonConfig, OptionKind>> = {
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
  shutdownDelaySecs: [0, 2_147_483],
  exitTimeoutSecs: [0, 2_147_483],
  exitOnError: 'boolean',
  serverThread: 'boolean',
  traceConfig: { separator: ';' },
};

/** Triton's and PyTriton's options that this version does not serve: refused by name. */
const UNSUPPORTED: readonly string[] = [
  'modelRepository',
  'httpThreadCount',
  'grpcInferAllocationPoolSize',
  'sagemakerThreadCount',
  'vertexAiThreadCount',
  'cacheDirectory',
  'bufferManagerThreadCount',
  'maxInflightBytes',
];

export function isOption(name: string): name is keyof TritonConfig {
  return Object.hasOwn(OPTION_KINDS, name);
}

/** Throws UNSUPPORTED for an option of Triton's that there is not; `given` is what the user wrote. */
export function refuseUnsupported(name: string, given: string): void {
  if (!UNSUPPORTED.includes(name)) return;
  throw new TritonError('UNSUPPORTED', `${given} is not supported by this version of TSTriton`);
}

/** The option that somebody may have meant. */
export function nearestOption(name: string): string | undefined {
  return nearest(name, Object.keys(OPTION_KINDS));
}
