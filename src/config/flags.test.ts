import { describe, expect, it } from 'vitest';

import { flagOf, parseFlag } from './flags.js';
import { OPTIONS, REFUSED_OPTIONS } from './options.js';

describe('flags', () => {
  it.each([
    ['httpPort', '--http-port'],
    ['id', '--id'],
    ['grpcHttp2MinRecvPingIntervalWithoutData', '--grpc-http2-min-recv-ping-interval-without-data'],
    ['vertexAiDefaultModel', '--vertex-ai-default-model'],
    ['httpUseSsl', '--http-use-ssl'],
  ])('are spelled as Triton spells them: %s', (option, flag) => {
    expect(flagOf(option)).toBe(flag);
  });

  it("are for all options that Triton's own command has, or have a reason why not", () => {
    const known = new Set([...Object.keys(OPTIONS), ...Object.keys(REFUSED_OPTIONS)].map((name) => flagOf(name)));
    expect(TRITON_FLAGS.filter((flag) => !known.has(`--${flag}`))).toEqual([]);
  });

  it('are no options that are refused as well', () => {
    expect(Object.keys(REFUSED_OPTIONS).filter((name) => Object.hasOwn(OPTIONS, name))).toEqual([]);
  });

  it('have values that are read as those of variables are, and refused by the name of the flag', () => {
    expect(parseFlag('httpPort', '0')).toBe(0);
    expect(parseFlag('allowGrpc', 'off')).toBe(false);
    expect(() => parseFlag('httpPort', '65536')).toThrow('--http-port must be an integer from 0 to 65535, got 65536');
    expect(() => parseFlag('logFormat', 'x')).toThrow('--log-format must be');
  });

  it('add to a list, and replace any other value', () => {
    const first = parseFlag('metricsConfig', 'summary_latencies=true');
    expect(parseFlag('metricsConfig', 'counter_latencies=false', first)).toEqual([
      'summary_latencies=true',
      'counter_latencies=false',
    ]);
    expect(parseFlag('loadModel', 'a,b', ['c'])).toEqual(['c', 'a', 'b']);
    expect(parseFlag('httpPort', '2', 1)).toBe(2);
  });
});

/** All that `tritonserver --help` lists. */
const TRITON_FLAGS =
  `id exit-timeout-secs model-store model-repository exit-on-error disable-auto-complete-config strict-readiness
  model-control-mode repository-poll-secs load-model model-load-thread-count model-load-retry-count model-namespacing allow-http
  http-address http-port reuse-http-port http-header-forward-pattern http-thread-count http-restricted-api allow-grpc
  grpc-address grpc-port reuse-grpc-port grpc-header-forward-pattern grpc-infer-allocation-pool-size grpc-use-ssl
  grpc-use-ssl-mutual grpc-server-cert grpc-server-key grpc-root-cert grpc-infer-response-compression-level grpc-keepalive-time
  grpc-keepalive-timeout grpc-keepalive-permit-without-calls grpc-http2-max-pings-without-data
  grpc-http2-min-recv-ping-interval-without-data grpc-http2-max-ping-strikes grpc-max-connection-age
  grpc-max-connection-age-grace grpc-restricted-protocol log-verbose log-info log-warning log-error log-format log-file
  allow-sagemaker sagemaker-port sagemaker-safe-port-range sagemaker-thread-count allow-vertex-ai vertex-ai-port
  vertex-ai-thread-count vertex-ai-default-model allow-metrics allow-gpu-metrics allow-cpu-metrics metrics-address metrics-port
  metrics-interval-ms metrics-config trace-config cache-config cache-directory rate-limit rate-limit-resource
  pinned-memory-pool-byte-size cuda-memory-pool-byte-size cuda-virtual-address-size min-supported-compute-capability
  buffer-manager-thread-count host-policy model-load-gpu-limit backend-directory backend-config repoagent-directory
  strict-model-config response-cache-byte-size trace-file trace-level trace-rate trace-count trace-log-frequency`.split(
    /\s+/,
  );
