import { describe, expect, it } from 'vitest';

import { readTritonConfig } from './read-triton-config.js';
import type { TritonConfig } from './generated/triton-config.js';
import { grpcSettings } from './grpc-settings.js';

const settings = (config: TritonConfig) => grpcSettings(readTritonConfig(config, {}).config);
const invalid = (message: string) => expect.objectContaining({ code: 'INVALID_ARG', message });

const FILES = { grpcServerCert: 'cert.pem', grpcServerKey: 'key.pem' };

describe('the settings of the gRPC port', () => {
  it("are Triton's defaults: plain, with its keepalive", () => {
    expect(settings({})).toEqual({
      compressionLevel: 'none',
      tls: undefined,
      keepalive: {
        keepaliveTime: 7_200_000,
        keepaliveTimeout: 20_000,
        permitWithoutCalls: false,
        maxPingsWithoutData: 2,
        minRecvPingInterval: 300_000,
        maxPingStrikes: 2,
      },
    });
  });

  it('are all that is given', () => {
    const config: TritonConfig = {
      grpcInferResponseCompressionLevel: 'high',
      grpcKeepaliveTime: 1,
      grpcKeepaliveTimeout: 2,
      grpcKeepalivePermitWithoutCalls: true,
      grpcHttp2MaxPingsWithoutData: 3,
      grpcHttp2MinRecvPingIntervalWithoutData: 4,
      grpcHttp2MaxPingStrikes: 0,
    };
    expect(settings(config)).toMatchObject({
      compressionLevel: 'high',
      keepalive: {
        keepaliveTime: 1,
        keepaliveTimeout: 2,
        permitWithoutCalls: true,
        maxPingsWithoutData: 3,
        minRecvPingInterval: 4,
        maxPingStrikes: 0,
      },
    });
  });

  it('come from the environment, too', () => {
    const environment = {
      TSTRITON_CONFIG_GRPC_USE_SSL: 'true',
      TSTRITON_CONFIG_GRPC_SERVER_CERT: 'cert.pem',
      TSTRITON_CONFIG_GRPC_SERVER_KEY: 'key.pem',
      PYTRITON_TRITON_CONFIG_GRPC_HTTP2_MAX_PING_STRIKES: '7',
    };
    const { tls, keepalive } = grpcSettings(readTritonConfig({}, environment).config);
    expect(tls).toEqual({ serverCert: 'cert.pem', serverKey: 'key.pem', rootCert: undefined, mutual: false });
    expect(keepalive.maxPingStrikes).toBe(7);
  });
});

describe('TLS', () => {
  it('is mutual with either option given', () => {
    const config = { ...FILES, grpcRootCert: 'root.pem', grpcUseSslMutual: true };
    const tls = { serverCert: 'cert.pem', serverKey: 'key.pem', rootCert: 'root.pem', mutual: true };
    expect(settings(config).tls).toEqual(tls);
    expect(settings({ ...config, grpcUseSsl: true }).tls).toEqual(tls);
    expect(settings({ ...config, grpcUseSslMutual: false, grpcUseSsl: true }).tls).toEqual({ ...tls, mutual: false });
  });

  it.each([
    [{ grpcUseSsl: true }, 'grpcUseSsl needs grpcServerCert, the path of a PEM file'],
    [{ grpcUseSsl: true, grpcServerCert: 'c' }, 'grpcUseSsl needs grpcServerKey, the path of a PEM file'],
    [{ ...FILES, grpcUseSslMutual: true }, 'grpcUseSslMutual needs grpcRootCert, the path of a PEM file'],
    [{ grpcServerKey: 'k' }, 'grpcServerKey needs grpcUseSsl: true, got false'],
    [{ grpcRootCert: 'r', grpcUseSsl: false }, 'grpcRootCert needs grpcUseSsl: true, got false'],
  ] as const)('is refused when options do not go together: %j', (config, message) => {
    expect(() => readTritonConfig(config, {})).toThrow(invalid(message));
  });
});
