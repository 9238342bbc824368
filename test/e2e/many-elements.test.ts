// More than a million BYTES elements in a request, and megabytes of white space in its JSON: limited by what they cost, in the
// budget that `maxInflightBytes` sets, and given back when the request ends.
import { describe, expect, it } from 'vitest';

import { ModelClient } from 'tstriton/client';
import { inferJson, startServer, type RunningServer } from '../support/start-server.js';

const MIB = 1 << 20;

function start(serverThread: boolean, maxInflightBytes: number): Promise<RunningServer> {
  return startServer(
    (triton) => {
      triton.bind({
        modelName: 'count',
        inputs: { x: { dtype: 'bytes', shape: [-1] } },
        outputs: { n: { dtype: 'int32', shape: [2] } },
        config: { batching: false },
        inferFunc: (requests) =>
          requests.map(({ inputs: { x } }) => ({ n: Int32Array.of(x.data.length, x.data.at(-1)![0]!) })),
      });
    },
    { serverThread, maxInflightBytes },
  );
}

/**
 * One element so often. To make an object for each takes a second, of the thread in which the callable runs: on a machine with much
 * else to do that thread counted as blocked.
 */
function manyOf(count: number, byte: number): readonly Uint8Array[] {
  return new Array<Uint8Array>(count).fill(Uint8Array.of(byte));
}

/** A tensor of equal elements of one byte. */
function elements(count: number, byte: number) {
  const bytes = new Uint8Array(5 * count);
  for (let i = 0; i < count; i++) {
    bytes[5 * i] = 1;
    bytes[5 * i + 4] = byte;
  }
  return bytes;
}

describe.each([{ serverThread: true }, { serverThread: false }])('very many elements, %o', ({ serverThread }) => {
  it('are served where they fit, one request after the other and small ones beside them', async () => {
    await using server = await start(serverThread, 600 * MIB);
    const clients = [new ModelClient(server.http, 'count'), new ModelClient(server.grpc, 'count')];
    for (const [at, client] of [...clients, ...clients].entries()) {
      const count = 1_200_000 + at;
      const x = manyOf(count, at);
      const [{ n }, { n: few }] = await Promise.all([
        client.inferSample({ x }),
        clients[0]!.inferSample({ x: [Uint8Array.of(100 + at)] }),
      ]);
      expect([[...n!.data], [...few!.data]]).toEqual([
        [count, at],
        [1, 100 + at],
      ]);
    }
    await Promise.all(clients.map((client) => client.close()));
  });

  it('are refused where their objects would not fit, whoever sends them, and the server goes on', async () => {
    await using server = await start(serverThread, 32 * MIB);
    const count = 200_000;
    const json = JSON.stringify({
      inputs: [{ name: 'x', datatype: 'BYTES', shape: [count], parameters: { binary_data_size: 5 * count } }],
    });
    const body = new Blob([json, elements(count, 7)]);
    const answer = await fetch(`${server.http}/v2/models/count/infer`, {
      method: 'POST',
      body,
      headers: { 'Inference-Header-Content-Length': String(json.length) },
    });
    expect([answer.status, (await answer.json()) as unknown]).toEqual([
      400,
      {
        error: expect.stringMatching(
          /^expected a request with at most 1\d{5} elements of datatype BYTES, got more: each takes 128 bytes of maxInflightBytes$/,
        ) as unknown,
      },
    ]);
    await using client = new ModelClient(server.grpc, 'count');
    const x = manyOf(count, 1);
    await expect(client.inferSample({ x })).rejects.toMatchObject({ code: 'INVALID_ARG' });
    for (let i = 0; i < 4; i++) {
      const { n } = await client.inferSample({ x: x.slice(0, 60_000 + i) });
      expect([...n!.data]).toEqual([60_000 + i, 1]);
    }
  });

  it('and megabytes of white space are read', async () => {
    await using server = await start(serverThread, 64 * MIB);
    const gap = ' \n'.repeat(MIB);
    const { status, outputs } = await inferJson(server.http, 'count', [
      { name: 'x', datatype: 'BYTES', shape: [1], data: [gap] },
    ]);
    expect([status, outputs[0]!.data]).toEqual([200, [1, 32]]);
    const text = `{${gap}"inputs":${gap}[{"name":"x","datatype":"BYTES","shape":[2],"data":${gap}["a",${gap}"b"${gap}]}]}`;
    const answer = await fetch(`${server.http}/v2/models/count/infer`, { method: 'POST', body: text });
    expect(await answer.json()).toMatchObject({ outputs: [{ data: [2, 98] }] });
  });
});
