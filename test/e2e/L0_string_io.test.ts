// Triton's L0_string_io and L0_nullchar_string: text in and out over both protocols and both forms, byte for byte.
import { describe, expect, it } from 'vitest';

import { batch, Tensor, type Triton } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { binaryBody, bytesElements, post } from '../support/http-infer.js';
import { bindEchoes, startServer } from '../support/start-server.js';

function bind(triton: Triton): void {
  bindEchoes(triton, ['string', 'bytes']);
  triton.bind({
    modelName: 'lengths',
    inferFunc: batch(({ x }) => ({
      n: new Tensor(
        'int32',
        Int32Array.from(x.data, (text) => text.length),
        x.shape,
      ),
    })),
    inputs: { x: { dtype: 'string', shape: [-1] } },
    outputs: { n: { dtype: 'int32', shape: [-1] } },
    config: { maxBatchSize: 8 },
  });
}

const TEXTS = [
  '',
  'a',
  ' \t\r\n',
  'hé "q" \\ /',
  '😀\u{10ffff}',
  '\0',
  'a\0b\0',
  'x'.repeat(70_000),
  '\u2028\u2029\x7f',
];

describe.each([{ serverThread: true }, { serverThread: false }])('L0_string_io with %o', (config) => {
  it.each(['string', 'bytes'])('brings %s back as it was', async (modelName) => {
    await using server = await startServer(bind, config);
    const shape = [1, TEXTS.length];
    const json = await post(
      server.http,
      modelName,
      JSON.stringify({ inputs: [{ name: 'x', datatype: 'BYTES', shape, data: TEXTS }] }),
    );
    expect(json.json.outputs).toEqual([{ name: 'y', datatype: 'BYTES', shape, data: TEXTS }]);
    const bytes = bytesElements(...TEXTS);
    const { body, headers } = binaryBody([{ name: 'x', datatype: 'BYTES', shape, bytes }], {
      parameters: { binary_data_output: true },
    });
    expect((await post(server.http, modelName, body, { headers })).binary).toEqual(bytes);
    for (const url of [server.http, server.grpc]) {
      await using model = new ModelClient(url, modelName);
      const { y } = await model.inferSample({ x: new Tensor('string', TEXTS, [TEXTS.length]) });
      expect(y!.strings()).toEqual(TEXTS);
    }
  });

  it('brings any bytes back in binary, and refuses to put them into JSON', async () => {
    await using server = await startServer(bind, config);
    const bytes = bytesElements(Uint8Array.of(0xff, 0xfe, 0, 0x80), 'ok');
    const input = { name: 'x', datatype: 'BYTES', shape: [1, 2], bytes };
    const binary = binaryBody([input], { parameters: { binary_data_output: true } });
    expect((await post(server.http, 'bytes', binary.body, { headers: binary.headers })).binary).toEqual(bytes);
    const asJson = binaryBody([input]);
    const refused = await post(server.http, 'bytes', asJson.body, { headers: asJson.headers });
    expect([refused.status, refused.json.error]).toEqual([
      400,
      "sending output 'y' via JSON is not possible: an element is not valid UTF-8. Please use the binary data format for output",
    ]);
    const raw = Buffer.concat([
      Buffer.from('{"inputs":[{"name":"x","datatype":"BYTES","shape":[1,1],"data":["'),
      Buffer.of(0xff),
      Buffer.from('"]}]}'),
    ]);
    expect((await post(server.http, 'bytes', raw)).json.error).toMatch(/Invalid encoding in string\. at 65$/);
  });

  it.each([
    ['a missing length', Buffer.of(1, 0), /incomplete string length indicator for inference input 'x'/],
    ['a text that is too short', Buffer.of(3, 0, 0, 0, 97), /incomplete string data for inference input/],
    ['a length beyond all memory', Buffer.of(255, 255, 255, 255, 97), /incomplete string data for inference input/],
    [
      'too few texts',
      bytesElements('a'),
      /expected 2 string elements for inference input 'x' for model 'bytes', got 1/,
    ],
    ['too many texts', bytesElements('a', 'b', 'c'), /unexpected number of string elements 3 for inference input 'x'/],
  ])('refuses %s', async (_, bytes, message) => {
    await using server = await startServer(bind, config);
    const { body, headers } = binaryBody([{ name: 'x', datatype: 'BYTES', shape: [1, 2], bytes }]);
    const { status, json } = await post(server.http, 'bytes', body, { headers });
    expect(status).toBe(400);
    expect(json.error).toMatch(message);
  });
});

it('L0_nullchar_string: a NUL ends no text, whether in tensors, ids or parameters', async () => {
  await using server = await startServer(bind);
  const body =
    '{"id":"a\\u0000b","inputs":[{"name":"x","datatype":"BYTES","shape":[1,3],"data":["\\u0000","a\\u0000","\\u0000b\\u0000"]}]}';
  const { json } = await post(server.http, 'lengths', body);
  expect([json.id, json.outputs[0]!.data]).toEqual(['a\0b', [1, 2, 3]]);
  await using model = new ModelClient(server.grpc, 'lengths');
  const { n } = await model.inferSample({ x: new Tensor('string', ['\0', 'a\0', '\0b\0'], [3]) });
  expect([...(n!.data as Int32Array)]).toEqual([1, 2, 3]);
});
