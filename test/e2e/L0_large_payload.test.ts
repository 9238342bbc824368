// Triton's L0_large_payload, the part over HTTP: tensors larger than the limit of JSON go in binary, and what is too
// large is refused without harm.
import { describe, expect, it } from 'vitest';

import { type Triton } from 'tstriton';

import { binaryBody, expectAlive, post } from '../support/http-infer.js';
import { startServer } from '../support/start-server.js';

function bind(triton: Triton): void {
  triton.bind({
    modelName: 'identity',
    inferFunc: (requests) => requests,
    inputs: { x: { dtype: 'float32', shape: [-1] } },
    outputs: { y: { dtype: 'float32', shape: [-1] } },
    config: { maxBatchSize: 2 },
  });
}

const COUNT = 20_000_000;

describe.each([{ serverThread: true }, { serverThread: false }])('L0_large_payload with %o', (config) => {
  it('takes 80 MB of binary data there and back', async () => {
    await using server = await startServer(bind, config);
    const values = new Float32Array(COUNT).map((_, i) => i);
    const bytes = Buffer.from(values.buffer);
    const { body, headers } = binaryBody([{ name: 'x', datatype: 'FP32', shape: [1, COUNT], bytes }], {
      parameters: { binary_data_output: true },
    });
    const answer = await post(server.http, 'identity', body, { headers });
    expect([answer.status, answer.json.outputs[0]!.shape]).toEqual([200, [1, COUNT]]);
    expect(Buffer.compare(answer.binary, bytes)).toBe(0);
  });

  it('refuses JSON beyond the limit, in the body and in what it expands to', async () => {
    await using server = await startServer(bind, { ...config, httpMaxInputSize: 10_000 });
    const long = `{"inputs":[{"name":"x","datatype":"FP32","shape":[1,9000],"data":[${'1,'.repeat(8999)}1]}]}`;
    const body = await post(server.http, 'identity', long);
    expect([body.status, body.json.error]).toEqual([
      400,
      `request JSON size of ${long.length} bytes exceeds the maximum allowed input size of 10000 bytes. Use --http-max-input-size to increase the limit.`,
    ]);
    const short = `{"inputs":[{"name":"x","datatype":"FP32","shape":[1,3000],"data":[${'1,'.repeat(2999)}1]}]}`;
    const tensor = await post(server.http, 'identity', short);
    expect([tensor.status, tensor.json.error]).toEqual([
      400,
      "JSON input 'x' has a byte_size (12000 bytes) that exceeds the maximum allowed value of 10000 bytes. Use --http-max-input-size to increase the limit.",
    ]);
    const generate = await post(server.http, 'identity', `{"x":[${'1,'.repeat(2999)}1]}`, { action: 'generate' });
    expect([generate.status, generate.json.error]).toEqual([
      400,
      "request size of 12000 bytes with input 'x' of size 12000 bytes exceeds the maximum allowed input size of 10000. Use --http-max-input-size to increase the limit.",
    ]);
    await expectAlive(server.http);
  });

  it('refuses a shape that promises more than there is, whatever it promises', async () => {
    await using server = await startServer(bind, config);
    for (const shape of [
      '[1,10000000]',
      '[1,9007199254740993]',
      '[9223372036854775807,2]',
      '[1,18446744073709551615]',
    ]) {
      const { status } = await post(
        server.http,
        'identity',
        `{"inputs":[{"name":"x","datatype":"FP32","shape":${shape},"data":[1]}]}`,
      );
      expect(status).toBe(400);
    }
    await expectAlive(server.http);
  });
});
