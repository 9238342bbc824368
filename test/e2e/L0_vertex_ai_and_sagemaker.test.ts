// The ports that hosting platforms call, switched on as the platforms do it.
import { afterEach, describe, expect, it, vi } from 'vitest';

import { Triton } from 'tstriton';

import { callJson } from '../support/grpc-service.js';
import { FREE_PORTS } from '../support/start-server.js';

const TENSOR = { dtype: 'float32', shape: [-1] } as const;
const REQUEST = { inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 2], data: [1, 2] }] };

const running: Triton[] = [];

afterEach(async () => {
  await Promise.all(running.splice(0).map((triton) => triton.stop()));
});

async function run(config: object): Promise<Triton> {
  const triton = new Triton({ ...FREE_PORTS, ...config });
  running.push(triton);
  triton.bind({ modelName: 'm', inferFunc: (requests) => requests, inputs: { x: TENSOR }, outputs: { y: TENSOR } });
  await triton.run();
  return triton;
}

describe('Vertex AI', () => {
  it('finds its routes and the metrics on one port, and no other protocol, when its environment is there', async () => {
    vi.stubEnv('AIP_MODE', 'PREDICTION');
    vi.stubEnv('AIP_HTTP_PORT', '0');
    vi.stubEnv('AIP_PREDICT_ROUTE', '/predict');
    vi.stubEnv('AIP_HEALTH_ROUTE', '/health');
    const triton = await run({});
    expect([triton.httpPort, triton.grpcPort]).toEqual([undefined, undefined]);
    const url = `http://127.0.0.1:${triton.vertexAiPort}`;
    expect(await callJson(`${url}/health`)).toEqual([200, '']);
    expect(await callJson(`${url}/predict`, REQUEST)).toEqual([
      200,
      {
        model_name: 'm',
        model_version: '1',
        outputs: [{ name: 'y', datatype: 'FP32', shape: [1, 2], data: [1, 2] }],
      },
    ]);
    const metrics = await fetch(`${url}/predict`, {
      method: 'POST',
      headers: { 'X-Vertex-Ai-Triton-Redirect': 'metrics' },
    });
    expect(await metrics.text()).toContain('nv_inference_request_success{model="m",version="1"} 1');
  });

  it('cannot be served without its routes', () => {
    expect(() => new Triton({ allowVertexAi: true })).toThrow(
      'AIP_PREDICT_ROUTE is not defined for Vertex AI endpoint',
    );
  });

  it('needs one model to predict with', async () => {
    vi.stubEnv('AIP_PREDICT_ROUTE', '/predict');
    vi.stubEnv('AIP_HEALTH_ROUTE', '/health');
    const config = { allowVertexAi: true, vertexAiPort: 0, vertexAiDefaultModel: 'nope' };
    await expect(run(config)).rejects.toThrow("Expect the default model 'nope' is loaded");
  });
});

it('SageMaker finds its routes beside the other protocols', async () => {
  vi.stubEnv('SAGEMAKER_TRITON_DEFAULT_MODEL_NAME', 'm');
  const triton = await run({ allowSagemaker: true, sagemakerPort: 0 });
  const url = `http://127.0.0.1:${triton.sagemakerPort}`;
  expect(await callJson(`${url}/ping`)).toEqual([200, '']);
  expect((await callJson(`${url}/invocations`, REQUEST))[0]).toBe(200);
  expect(await callJson(`http://127.0.0.1:${triton.httpPort}/v2/health/ready`)).toEqual([200, '']);
});

it('a port outside the range that SageMaker allows is refused', () => {
  expect(() => new Triton({ sagemakerSafePortRange: '21000-22000', httpPort: 21000, grpcPort: 21001 })).toThrow(
    'The server cannot listen to metrics requests at port 8002, allowed port range is [21000, 22000]',
  );
});
