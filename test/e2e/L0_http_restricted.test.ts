// Restricted APIs and the access token, over both protocols.
import { describe, expect, it } from 'vitest';

import { Triton, type TritonConfig } from 'tstriton';

import { callJson, grpcService } from '../support/grpc-service.js';
import { FREE_PORTS, startServer } from '../support/start-server.js';

const TENSOR = { dtype: 'float32', shape: [-1] } as const;

function bind(triton: Triton): void {
  triton.bind({ modelName: 'm', inferFunc: (requests) => requests, inputs: { x: TENSOR }, outputs: { y: TENSOR } });
}

const INFER = { inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }] };

/** A call of each category, with the status that it has when it may. */
const HTTP_CALLS = {
  health: ['/v2/health/ready', undefined],
  metadata: ['/v2/models/m', undefined],
  inference: ['/v2/models/m/infer', INFER],
  'shared-memory': ['/v2/systemsharedmemory/status', undefined],
  'model-config': ['/v2/models/m/config', undefined],
  'model-repository': ['/v2/repository/index', {}],
  statistics: ['/v2/models/stats', undefined],
  trace: ['/v2/trace/setting', undefined],
  logging: ['/v2/logging', undefined],
} as const;

const GRPC_CALLS = {
  health: ['ModelReady', { name: 'm' }],
  metadata: ['ServerMetadata', {}],
  inference: [
    'ModelInfer',
    {
      model_name: 'm',
      inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1], contents: { fp32_contents: [1] } }],
    },
  ],
  'shared-memory': ['SystemSharedMemoryStatus', {}],
  'model-config': ['ModelConfig', { name: 'm' }],
  'model-repository': ['RepositoryIndex', {}],
  statistics: ['ModelStatistics', {}],
  trace: ['TraceSetting', {}],
  logging: ['LogSettings', {}],
} as const;

/** The categories that are refused over each protocol, to a client with these headers; all others answer. */
async function refused(config: TritonConfig, http: Record<string, string> = {}, grpc: Record<string, string> = {}) {
  await using server = await startServer(bind, config);
  using service = grpcService(server.grpc);
  const overHttp: string[] = [];
  for (const [category, [path, body]] of Object.entries(HTTP_CALLS)) {
    const [status] = await callJson(server.http + path, body, http);
    if (status !== 200) overHttp.push(status === 403 ? category : `${category} ${status}`);
  }
  const overGrpc: string[] = [];
  for (const [category, [method, request]] of Object.entries(GRPC_CALLS)) {
    await service.call(method, request, grpc).catch(({ code, details }: { code: number; details: string }) => {
      const restricted =
        code === 14 && details.startsWith("This protocol is restricted, expecting header 'triton-grpc-protocol-");
      overGrpc.push(restricted ? category : `${category} ${code} ${details}`);
    });
  }
  return { overHttp, overGrpc };
}

const DANGEROUS = ['shared-memory', 'model-repository', 'trace', 'logging'];

describe('the access token', () => {
  it('guards what changes the server by default, and opens it', async () => {
    expect(await refused({})).toEqual({ overHttp: DANGEROUS, overGrpc: DANGEROUS });
    const opened = await refused(
      { accessToken: 'open sesame' },
      { 'triton-access-token': 'open sesame' },
      { 'triton-grpc-protocol-triton-access-token': 'open sesame' },
    );
    expect(opened).toEqual({ overHttp: [], overGrpc: [] });
  });

  it('is told by the server, another one each time', () => {
    const [first, second] = [new Triton(FREE_PORTS), new Triton(FREE_PORTS)];
    expect(first.accessToken).toMatch(/^[\w-]{43}$/);
    expect(second.accessToken).not.toBe(first.accessToken);
    expect(new Triton({ ...FREE_PORTS, restrictedEndpoints: [] }).accessToken).toBeUndefined();
    expect(new Triton({ ...FREE_PORTS, accessToken: 'mine' }).accessToken).toBe('mine');
  });

  it('guards the endpoints that it is told to, or none', async () => {
    const some = ['inference', 'statistics'];
    expect(await refused({ restrictedEndpoints: some })).toEqual({ overHttp: some, overGrpc: some });
    expect(await refused({ restrictedEndpoints: [] })).toEqual({ overHttp: [], overGrpc: [] });
  });
});

describe('restricted APIs', () => {
  const config = {
    restrictedEndpoints: [],
    httpRestrictedApi: ['metadata,health:admin-key=http secret', 'trace:other=x'],
    grpcRestrictedProtocol: 'model-config,inference:admin-key=grpc secret',
  };

  it('are those of each protocol, each with a header of its own', async () => {
    expect(await refused(config)).toEqual({
      overHttp: ['health', 'metadata', 'trace'],
      overGrpc: ['inference', 'model-config'],
    });
    expect(
      await refused(config, { 'Admin-Key': 'http secret' }, { 'triton-grpc-protocol-admin-key': 'grpc secret' }),
    ).toEqual({ overHttp: ['trace'], overGrpc: [] });
    expect(await refused(config, { 'admin-key': 'grpc secret', other: 'x' }, { 'admin-key': 'grpc secret' })).toEqual({
      overHttp: ['health', 'metadata'],
      overGrpc: ['inference', 'model-config'],
    });
  });

  it('name the header that is missing', async () => {
    await using server = await startServer(bind, config);
    expect((await callJson(`${server.http}/v2/trace/setting`, {}))[1]).toEqual({
      error: "This API is restricted, expecting header 'other'",
    });
  });
});
