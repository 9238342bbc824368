import { describe, expect, it } from 'vitest';

import { readTritonConfig } from './read-triton-config.js';
import type { TritonConfig } from './generated/triton-config.js';
import { grpcSettings } from './grpc-settings.js';

const settings = (config: TritonConfig) => grpcSettings(readTritonConfig(config, {}).config);

describe('the settings of the gRPC port', () => {
  it("are Triton's defaults, with its keepalive", () => {
    expect(settings({})).toEqual({
      compressionLevel: 'none',
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
      TSTRITON_CONFIG_GRPC_KEEPALIVE_TIME: '5',
      PYTRITON_TRITON_CONFIG_GRPC_HTTP2_MAX_PING_STRIKES: '7',
    };
    const { keepalive } = grpcSettings(readTritonConfig({}, environment).config);
    expect(keepalive).toMatchObject({ keepaliveTime: 5, maxPingStrikes: 7 });
  });
});
