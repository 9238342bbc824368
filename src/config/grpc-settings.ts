// What the options of the gRPC port come to: TLS, keepalive and compression, checked together.

import { TritonError } from '../errors.js';
import type { GrpcTlsFiles } from '../frontend/grpc/grpc-tls.js';
import type { KeepaliveOptions } from '../frontend/grpc/connection-keepalive.js';
import type { CompressionLevel } from '../protocol/grpc/message-compression.js';

export { COMPRESSION_LEVELS, type CompressionLevel } from '../protocol/grpc/message-compression.js';

/** The options, complete with their defaults. */
export interface GrpcOptions {
  readonly grpcUseSsl: boolean;
  readonly grpcUseSslMutual: boolean;
  readonly grpcServerCert: string | undefined;
  readonly grpcServerKey: string | undefined;
  readonly grpcRootCert: string | undefined;
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
  readonly tls: GrpcTlsFiles | undefined;
}

/** Throws INVALID_ARG for options of TLS that do not go together. */
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
    tls: tlsFiles(options),
  };
}

function tlsFiles(options: GrpcOptions): GrpcTlsFiles | undefined {
  const { grpcServerCert: serverCert, grpcServerKey: serverKey, grpcRootCert: rootCert } = options;
  // As in Triton, mutual TLS is TLS whatever the other option says.
  if (!options.grpcUseSsl && !options.grpcUseSslMutual) {
    const unused = Object.entries({ grpcServerCert: serverCert, grpcServerKey: serverKey, grpcRootCert: rootCert });
    const given = unused.find(([, path]) => path !== undefined);
    if (given === undefined) return undefined;
    throw new TritonError('INVALID_ARG', `${given[0]} needs grpcUseSsl: true, got false`);
  }
  const option = options.grpcUseSslMutual ? 'grpcUseSslMutual' : 'grpcUseSsl';
  if (serverCert === undefined || serverKey === undefined) {
    const missing = serverCert === undefined ? 'grpcServerCert' : 'grpcServerKey';
    throw new TritonError('INVALID_ARG', `${option} needs ${missing}, the path of a PEM file`);
  }
  if (options.grpcUseSslMutual && rootCert === undefined) {
    throw new TritonError('INVALID_ARG', `${option} needs grpcRootCert, the path of a PEM file`);
  }
  return { serverCert, serverKey, rootCert, mutual: options.grpcUseSslMutual };
}
