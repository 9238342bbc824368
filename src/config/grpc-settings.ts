// What the options of the gRPC port alone come to: keepalive and compression.

import type { KeepaliveOptions } from '../frontend/grpc/connection-keepalive.js';
import type { CompressionLevel } from '../protocol/grpc/message-compression.js';

/** The options, complete with their defaults. */
export interface GrpcOptions {
  readonly grpcInferResponseCompressionLevel: CompressionLevel;
  readonly grpcKeepaliveTime: number;
  readonly grpcKeepaliveTimeout: number;
  readonly grpcKeepalivePermitWithoutCalls: boolean;
  readonly grpcHttp2MaxPingsWithoutData: number;
  readonly grpcHttp2MinRecvPingIntervalWithoutData: number;
  readonly grpcHttp2MaxPingStrikes: number;
}

export interface GrpcSettings {
  readonly compressionLevel: CompressionLevel;
  readonly keepalive: KeepaliveOptions;
}

export function grpcSettings(options: GrpcOptions): GrpcSettings {
  return {
    compressionLevel: options.grpcInferResponseCompressionLevel,
    keepalive: {
      keepaliveTime: options.grpcKeepaliveTime,
      keepaliveTimeout: options.grpcKeepaliveTimeout,
      permitWithoutCalls: options.grpcKeepalivePermitWithoutCalls,
      maxPingsWithoutData: options.grpcHttp2MaxPingsWithoutData,
      minRecvPingInterval: options.grpcHttp2MinRecvPingIntervalWithoutData,
      maxPingStrikes: options.grpcHttp2MaxPingStrikes,
    },
  };
}
