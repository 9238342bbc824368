// Triton's L0_data_compression: compressed requests and answers, and their limits.
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib';

import { describe, expect, it } from 'vitest';

import { type Triton } from 'tstriton';

import { binaryBody, expectAlive, post } from '../support/http-infer.js';
import { startServer } from '../support/start-server.js';

const INTS = { dtype: 'int32', shape: [-1] } as const;

function bind(triton: Triton): void {
  triton.bind({
    modelName: 'simple',
    inferFunc: (requests) =>
      requests.map(({ inputs: { INPUT0, INPUT1 } }) => ({
        OUTPUT0: INPUT0.map((value, i) => value + INPUT1.data[i]!),
        OUTPUT1: INPUT0.map((value, i) => value - INPUT1.data[i]!),
      })),
    inputs: { INPUT0: INTS, INPUT1: INTS },
    outputs: { OUTPUT0: INTS, OUTPUT1: INTS },
    config: { maxBatchSize: 8 },
  });
}

const COMPRESS = { gzip: gzipSync, deflate: deflateSync } as const;
const INFLATE = { gzip: gunzipSync, deflate: inflateSync } as const;

/** Without fetch, which would inflate. */
async function raw(http: string, body: Uint8Array, headers: Record<string, string>) {
  const request = httpRequest(`${http}/v2/models/simple/infer`, { method: 'POST', headers, agent: false });
  request.end(body);
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  const pieces: Buffer[] = [];
  for await (const piece of answer) pieces.push(piece as Buffer);
  return { status: answer.statusCode, headers: answer.headers, body: Buffer.concat(pieces) };
}

describe.each(['gzip', 'deflate'] as const)('L0_data_compression: %s', (coding) => {
  it.each([16, 100_000])('goes both ways with %d values, in JSON and in binary', async (count) => {
    await using server = await startServer(bind);
    const [a, b] = [Int32Array.from({ length: count }, (_, i) => i), new Int32Array(count).fill(1)];
    const inputs = [
      { name: 'INPUT0', datatype: 'INT32', shape: [1, count], bytes: Buffer.from(a.buffer) },
      { name: 'INPUT1', datatype: 'INT32', shape: [1, count], bytes: Buffer.from(b.buffer) },
    ];
    const plain = binaryBody(inputs, { parameters: { binary_data_output: true } });
    const answer = await raw(server.http, COMPRESS[coding](plain.body), {
      ...plain.headers,
      'content-encoding': coding,
      'accept-encoding': coding,
    });
    expect([answer.status, answer.headers['content-encoding']]).toEqual([200, coding]);
    const whole = INFLATE[coding](answer.body);
    const jsonLength = Number(answer.headers['inference-header-content-length']);
    expect(whole.length).toBe(jsonLength + 2 * 4 * count);
    const sums = new Int32Array(count);
    whole.copy(new Uint8Array(sums.buffer), 0, jsonLength, jsonLength + 4 * count);
    expect(sums).toEqual(a.map((value) => value + 1));

    const json = Buffer.from(
      JSON.stringify({
        inputs: [
          { name: 'INPUT0', datatype: 'INT32', shape: [1, count], data: [...a] },
          { name: 'INPUT1', datatype: 'INT32', shape: [1, count], data: [...b] },
        ],
      }),
    );
    const text = await raw(server.http, COMPRESS[coding](json), {
      'content-encoding': coding,
      'accept-encoding': coding,
    });
    const { outputs } = JSON.parse(INFLATE[coding](text.body).toString()) as { outputs: [{ data: number[] }] };
    expect(outputs[0].data).toEqual([...sums]);
  });

  it('is not inflated beyond the limit', async () => {
    await using server = await startServer(bind, { httpMaxInputSize: 1_000_000 });
    const bomb = COMPRESS[coding](Buffer.alloc(50_000_000));
    const { status, json } = await post(server.http, 'simple', bomb, { headers: { 'content-encoding': coding } });
    expect([status, json.error]).toEqual([
      400,
      'Decompressed data size exceeds the maximum allowed value of 1000000 bytes. Use --http-max-input-size to increase the limit.',
    ]);
    await expectAlive(server.http);
  });

  it('is refused when it is damaged', async () => {
    await using server = await startServer(bind);
    const good = COMPRESS[coding]('{"inputs":[]}');
    for (const bad of [
      good.subarray(0, -1),
      good.subarray(0, 4),
      Buffer.concat([good, Buffer.of(0)]),
      Buffer.from('{}'),
    ]) {
      const { status, json } = await post(server.http, 'simple', bad, { headers: { 'content-encoding': coding } });
      expect(status).toBe(400);
      expect(json.error).toMatch(/^failed to decompress the request body: /);
    }
  });
});

it('L0_data_compression: refuses codings that it does not know and says which it does', async () => {
  await using server = await startServer(bind);
  const { status, json, headers } = await post(server.http, 'simple', '{}', { headers: { 'content-encoding': 'br' } });
  expect([status, json.error, headers.get('accept-encoding')]).toEqual([
    501,
    'Unsupported compression type',
    'gzip, deflate',
  ]);
});
