import { describe, expect, it } from 'vitest';

import { ModelClient } from '../client/model-client.js';
import { Triton } from '../triton.js';
import type { TritonConfig } from './generated/triton-config.js';
import { readTritonConfig } from './read-triton-config.js';
import { tritonserverFlags } from './tritonserver-options.js';

function flagsOf(config: TritonConfig) {
  const { given, restrictions } = readTritonConfig({ engine: 'tritonserver', ...config }, {});
  return tritonserverFlags({
    given,
    restrictions,
    ports: { http: 1, grpc: 2, metrics: undefined },
    exitTimeoutSecs: 7,
  });
}

it('leaves no place for handlers in this process', () => {
  const triton = new Triton({ engine: 'tritonserver' });
  const refused = expect.objectContaining({ code: 'UNSUPPORTED' });
  expect(() => triton.handler()).toThrow(refused);
  expect(() => triton.fetchHandler()).toThrow(refused);
  expect(() => new ModelClient(triton, 'm')).toThrow(refused);
});

describe("the flags for engine: 'tritonserver'", () => {
  it('are those of the options that somebody gave, and what models need', () => {
    expect(flagsOf({ accessToken: 'token' })).toEqual([
      '--http-port=1',
      '--grpc-port=2',
      '--http-restricted-api=shared-memory,model-repository,trace,logging:triton-access-token=token',
      '--grpc-restricted-protocol=shared-memory,model-repository,trace,logging:triton-access-token=token',
      '--exit-timeout-secs=7',
      '--model-control-mode=explicit',
      '--load-model=*',
    ]);
  });

  it('have a flag for each entry of a list, and the further ones last', () => {
    const flags = flagsOf({
      id: 'mine',
      modelRepository: ['a', 'b'],
      traceConfig: ['rate=1', 'triton,file=x'],
      httpAddress: '127.0.0.1',
      allowGpuMetrics: true,
      responseCacheByteSize: 1024,
      restrictedEndpoints: [],
      httpRestrictedApi: 'trace:key=a:b',
      tritonserverArgs: ['--pinned-memory-pool-byte-size=0', '--host-policy=a,numa-node=1'],
    });
    expect(flags).toEqual([
      '--id=mine',
      '--http-address=127.0.0.1',
      '--allow-gpu-metrics=true',
      '--trace-config=rate=1',
      '--trace-config=triton,file=x',
      '--model-repository=a',
      '--model-repository=b',
      '--metrics-address=127.0.0.1',
      '--http-port=1',
      '--grpc-port=2',
      '--cache-config=local,size=1024',
      '--http-restricted-api=trace:key=a:b',
      '--exit-timeout-secs=7',
      '--model-control-mode=explicit',
      '--load-model=*',
      '--pinned-memory-pool-byte-size=0',
      '--host-policy=a,numa-node=1',
    ]);
  });

  it('load in explicit mode what was asked for', () => {
    const flags = flagsOf({ modelControlMode: 'explicit', loadModel: ['a', 'b'] });
    expect(flags.filter((flag) => flag.startsWith('--load-model'))).toEqual(['--load-model=a', '--load-model=b']);
    expect(flagsOf({ modelControlMode: 'explicit' }).join(' ')).not.toContain('--load-model');
  });

  it.each<[TritonConfig, string]>([
    [
      { maskErrors: true },
      "maskErrors does not go with engine: 'tritonserver': tritonserver tells clients the message of each error",
    ],
    [
      { serverThread: true },
      "serverThread does not go with engine: 'tritonserver': tritonserver is a process of its own",
    ],
    [{ httpUseSsl: true }, expect.stringContaining('tritonserver serves HTTP without TLS') as unknown as string],
    [
      { modelControlMode: 'poll', modelRepository: 'm' },
      expect.stringContaining("'poll' is not there") as unknown as string,
    ],
    [
      { allowHttp: false, grpcUseSsl: true, grpcServerCert: 'a', grpcServerKey: 'b' },
      expect.stringContaining('needs allowHttp') as unknown as string,
    ],
  ])('are refused for %j', (config, message) => {
    expect(() => flagsOf(config)).toThrow(expect.objectContaining({ code: 'UNSUPPORTED', message }));
  });

  it('need the engine', () => {
    expect(() => readTritonConfig({ tritonserverPath: '/x' }, {})).toThrow(
      expect.objectContaining({ code: 'INVALID_ARG', message: "tritonserverPath needs engine: 'tritonserver'" }),
    );
  });
});
