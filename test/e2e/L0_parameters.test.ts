// Triton's L0_parameters: parameters of requests and responses, class counts, forwarded headers.
import { describe, expect, it } from 'vitest';

import { InferenceResponse, Tensor, type Triton } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { post } from '../support/http-infer.js';
import { startServer } from '../support/start-server.js';

const FLOATS = { dtype: 'float32', shape: [-1] } as const;

function bind(triton: Triton): void {
  triton.bind({
    modelName: 'parameter',
    inferFunc: (requests) =>
      requests.map(({ parameters }) => ({
        keys: new Tensor('string', Object.keys(parameters), [1, Object.keys(parameters).length]),
        values: new Tensor('string', Object.values(parameters).map(String), [1, Object.keys(parameters).length]),
      })),
    inputs: { x: FLOATS },
    outputs: { keys: { dtype: 'string', shape: [-1] }, values: { dtype: 'string', shape: [-1] } },
    config: { batcher: null },
  });
  triton.bind({
    modelName: 'answering',
    inferFunc: (requests) =>
      requests.map(
        ({ inputs: { x } }) =>
          new InferenceResponse({ y: x }, { parameters: { text: 'é', flag: true, big: 9007199254740993n, half: 0.5 } }),
      ),
    inputs: { x: FLOATS },
    outputs: { y: FLOATS },
  });
  triton.bind({
    modelName: 'classes',
    inferFunc: (requests) => requests,
    inputs: { x: { dtype: 'float32', shape: [5] } },
    outputs: { y: { dtype: 'float32', shape: [5], labels: ['cat', 'dog', 'fish', '', 'snäke'] } },
    config: { maxBatchSize: 4 },
  });
}

const X = { name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] };

async function seen(http: string, more: object, headers: Record<string, string> = {}): Promise<object> {
  const { status, json } = await post(http, 'parameter', JSON.stringify({ inputs: [X], ...more }), { headers });
  if (status !== 200) return { status, error: json.error };
  const [keys, values] = json.outputs.map(({ data }) => data as string[]);
  return Object.fromEntries(keys!.map((key, i) => [key, values![i]]));
}

describe.each([{ serverThread: true }, { serverThread: false }])('L0_parameters with %o', (config) => {
  it('hands parameters of every kind to the model', async () => {
    await using server = await startServer(bind, config);
    const parameters = { bool: true, int: -3, text: 'é', big: 1e300 };
    const body = JSON.stringify({ parameters }).replace('}}', ',"long":9007199254740993}}');
    expect(await seen(server.http, JSON.parse(body) as object)).toMatchObject({ bool: 'true', int: '-3', text: 'é' });
    await using model = new ModelClient(server.grpc, 'parameter');
    const { keys, values } = await model.inferBatch(
      { x: new Tensor('float32', Float32Array.of(1), [1, 1]) },
      { parameters: { long: 9007199254740993n, half: 0.5 } },
    );
    expect([keys!.strings(), values!.strings()]).toEqual([
      ['long', 'half'],
      ['9007199254740993', '0.5'],
    ]);
  });

  it.each(['infer', 'generate'])('returns what the model says beside its outputs: %s', async (action) => {
    await using server = await startServer(bind, config);
    const body = action === 'infer' ? JSON.stringify({ inputs: [X] }) : '{"x":1}';
    const { text } = await post(server.http, 'answering', body, { action });
    expect(text).toContain('"big":9007199254740993');
    const { parameters = JSON.parse(text) as unknown } = JSON.parse(text) as { readonly parameters?: unknown };
    expect(parameters).toMatchObject({ text: 'é', flag: true, half: 0.5 });
  });

  it.each([
    [1, ['3.000000:1:dog']],
    [3, ['3.000000:1:dog', '2.000000:0:cat', '1.500000:3']],
    [9, ['3.000000:1:dog', '2.000000:0:cat', '1.500000:3', '1.000000:2:fish', '-1.000000:4:snäke']],
  ])('classifies: the best %d', async (classification, expected) => {
    await using server = await startServer(bind, config);
    const { json } = await post(
      server.http,
      'classes',
      JSON.stringify({
        inputs: [{ name: 'x', datatype: 'FP32', shape: [2, 5], data: [2, 3, 1, 1.5, -1, 2, 3, 1, 1.5, -1] }],
        outputs: [{ name: 'y', parameters: { classification } }],
      }),
    );
    expect(json.outputs).toEqual([
      { name: 'y', datatype: 'BYTES', shape: [2, expected.length], data: [...expected, ...expected] },
    ]);
  });

  it('forwards the headers that match, and refuses reserved names', async () => {
    await using server = await startServer(bind, { ...config, httpHeaderForwardPattern: 'my_header|triton_' });
    const headers = { my_header_1: 'my_value_1', MY_HEADER_2: 'my_value_2', other: 'no' };
    expect(await seen(server.http, { parameters: { own: 1 } }, headers)).toEqual({
      own: '1',
      my_header_1: 'my_value_1',
      MY_HEADER_2: 'my_value_2',
    });
    expect(await seen(server.http, {}, { triton_key: '1' })).toEqual({
      status: 400,
      error: "Header 'triton_key' is reserved for Triton usage and cannot be forwarded.",
    });
  });

  it('forwards metadata of gRPC calls that match', async () => {
    await using server = await startServer(bind, { ...config, grpcHeaderForwardPattern: 'My-Header|^timeout$' });
    await using model = new ModelClient(server.grpc, 'parameter');
    const x = new Tensor('float32', Float32Array.of(1), [1, 1]);
    const headers = { 'my-header-1': 'my_value_1', other: 'no' };
    const { keys, values } = await model.inferBatch({ x }, { headers, parameters: { own: 1 } });
    expect([keys!.strings(), values!.strings()]).toEqual([
      ['own', 'my-header-1'],
      ['1', 'my_value_1'],
    ]);
    await expect(model.inferBatch({ x }, { headers: { timeout: '1' } })).rejects.toMatchObject({
      code: 'INVALID_ARG',
      message: expect.stringContaining(
        "Header 'timeout' is reserved for Triton usage and cannot be forwarded.",
      ) as string,
    });
  });

  it('forwards none by default', async () => {
    await using server = await startServer(bind, config);
    expect(await seen(server.http, {}, { my_header_1: 'my_value_1' })).toEqual({});
  });
});

it('L0_parameters: refuses a pattern that is none before anything starts', async () => {
  await expect(startServer(bind, { httpHeaderForwardPattern: '(' })).rejects.toMatchObject({
    code: 'INVALID_ARG',
    message: expect.stringMatching(/^httpHeaderForwardPattern must be a regular expression, got "\("/) as string,
  });
});
