// Triton's L0_infer_zero: tensors without elements, over both protocols and both forms.
import { describe, expect, it } from 'vitest';

import { Tensor, type Dtype, type Triton } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { binaryBody, post } from '../support/http-infer.js';
import { bindEchoes, startServer } from '../support/start-server.js';

const DTYPES = {
  bool: 'BOOL',
  int8: 'INT8',
  uint16: 'UINT16',
  int64: 'INT64',
  float32: 'FP32',
  string: 'BYTES',
} as const;

function bind(triton: Triton): void {
  bindEchoes(triton, Object.keys(DTYPES) as Dtype[]);
  triton.bind({
    modelName: 'flat',
    inferFunc: (requests) => requests,
    inputs: { x: { dtype: 'float32', shape: [-1, 3] } },
    outputs: { y: { dtype: 'float32', shape: [-1, 3] } },
    config: { batching: false },
  });
}

describe.each([{ serverThread: true }, { serverThread: false }])('L0_infer_zero with %o', (config) => {
  it.each(Object.entries(DTYPES))('takes no elements of %s', async (model, datatype) => {
    await using server = await startServer(bind, config);
    const empty = { name: 'y', datatype, shape: [2, 0] };
    const input = { name: 'x', datatype, shape: [2, 0] };
    const json = await post(server.http, model, JSON.stringify({ inputs: [{ ...input, data: [] }] }));
    expect([json.status, json.json.outputs]).toEqual([200, [{ ...empty, data: [] }]]);
    const { body, headers } = binaryBody([{ ...input, bytes: new Uint8Array(0) }], {
      parameters: { binary_data_output: true },
    });
    const binary = await post(server.http, model, body, { headers });
    expect(binary.json.outputs).toEqual([{ ...empty, parameters: { binary_data_size: 0 } }]);
    expect([binary.headers.get('content-type'), binary.binary.length]).toEqual(['application/json', 0]);
    for (const url of [server.http, server.grpc]) {
      await using client = new ModelClient(url, model);
      const none = new Tensor(model as 'float32', (model === 'string' ? [] : tensorData(model)) as never, [2, 0]);
      const { y } = await client.inferBatch({ x: none });
      expect([y!.shape, y!.data.length]).toEqual([[2, 0], 0]);
    }
  });

  it('takes no rows where there is no batch, and refuses them where there is one', async () => {
    await using server = await startServer(bind, config);
    const none = { name: 'x', datatype: 'FP32', shape: [0, 3], data: [] };
    const flat = await post(server.http, 'flat', JSON.stringify({ inputs: [none] }));
    expect(flat.json.outputs).toEqual([{ name: 'y', datatype: 'FP32', shape: [0, 3], data: [] }]);
    const batched = await post(server.http, 'float32', JSON.stringify({ inputs: [none] }));
    expect(batched.status).toBe(400);
    expect(batched.json.error).toContain('batch-size must be >= 1');
  });
});

function tensorData(dtype: string): ArrayLike<unknown> {
  return (
    { bool: new Uint8Array(), int8: new Int8Array(), uint16: new Uint16Array(), int64: new BigInt64Array() }[dtype] ??
    new Float32Array()
  );
}
