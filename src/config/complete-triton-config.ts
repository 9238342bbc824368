// Gives every option its value, given or default, and refuses options that do not go together.

import { invalidArg, TritonError } from '../errors.js';
import { HeaderForwarding } from '../protocol/header-forwarding.js';
import type { TritonConfig } from './generated/triton-config.js';
import { checkSafePorts } from './hosting-environment.js';
import { type GivenValue, listOf } from './option-value.js';
import { type Option, type OptionName, OPTIONS, type Surroundings } from './options.js';
import { parseCacheConfig } from './parse-cache-config.js';
import { tlsFiles } from './tls-files.js';

/** What an option comes to: its list parsed, or its value, which one without a default may lack. */
type Completed<O extends Option> = O extends { readonly parse: (...given: never) => infer Parsed }
  ? Parsed
  : O['kind'] extends { readonly separator: string }
    ? readonly string[] | undefined
    : GivenValue<O['kind']> | (O extends { readonly default: unknown } ? never : undefined);

/** Every option with its value. */
export type CompleteTritonConfig = { readonly [N in OptionName]: Completed<(typeof OPTIONS)[N]> };

/** Throws INVALID_ARG or UNSUPPORTED naming the option, the value it got and the value it expected. */
export function completeTritonConfig(given: TritonConfig, surroundings: Surroundings): CompleteTritonConfig {
  const complete = Object.fromEntries(
    Object.entries<Option>(OPTIONS).map(([name, option]) => {
      const value = given[name as OptionName];
      if (typeof option.kind === 'object' && 'separator' in option.kind) {
        const entries = listOf(value as string | readonly string[] | undefined);
        return [name, option.parse === undefined ? value && entries : option.parse(entries, name)];
      }
      const byDefault = typeof option.default === 'function' ? option.default(given, surroundings) : option.default;
      return [name, value ?? byDefault];
    }),
  ) as CompleteTritonConfig;
  const { cacheConfig = [], responseCacheByteSize } = complete;
  const config = { ...complete, responseCacheByteSize: parseCacheConfig(cacheConfig, responseCacheByteSize) };
  checkTogether(config);
  return config;
}

/** Throws INVALID_ARG when no port takes requests. Handlers in other servers need none. */
export function expectEndpoint({ allowHttp, allowGrpc, allowVertexAi, allowSagemaker }: CompleteTritonConfig): void {
  if (allowHttp || allowGrpc || allowVertexAi || allowSagemaker) return;
  throw invalidArg('the HTTP or the gRPC endpoint has to be allowed, got allowHttp: false and allowGrpc: false');
}

/** Options that do not go together, and ports out of the range that SageMaker allows. */
function checkTogether(config: CompleteTritonConfig): void {
  if (config.loadModel.length > 0 && config.modelControlMode !== 'explicit') {
    throw invalidArg(`loadModel needs modelControlMode: 'explicit', got '${config.modelControlMode}'`);
  }
  if (config.modelControlMode === 'poll' && config.modelRepository.length === 0) {
    throw invalidArg("modelControlMode: 'poll' needs a modelRepository, got none");
  }
  if (config.logger !== undefined && config.logFile !== undefined) {
    throw invalidArg('the log goes to one place: expected logger or logFile, got both');
  }
  if (config.allowGpuMetrics && config.engine === 'tstriton') {
    throw new TritonError('UNSUPPORTED', 'allowGpuMetrics: TSTriton has no GPU metrics, expected false');
  }
  for (const option of ['httpHeaderForwardPattern', 'grpcHeaderForwardPattern'] as const) {
    const pattern = config[option];
    // Called only because it throws for a wrong pattern.
    if (pattern !== undefined) void new HeaderForwarding(pattern, option);
  }
  // Called only because they throw for wrong options.
  tlsFiles(config, 'http');
  tlsFiles(config, 'grpc');
  checkSafePorts(config.sagemakerSafePortRange, {
    HTTP: config.allowHttp ? config.httpPort : undefined,
    GRPC: config.allowGrpc ? config.grpcPort : undefined,
    metrics: config.allowMetrics ? config.metricsPort : undefined,
    'Vertex AI': config.allowVertexAi ? config.vertexAiPort : undefined,
  });
}
