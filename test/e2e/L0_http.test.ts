// Triton's L0_http: raw binary requests, chunked bodies, and requests that are refused.
import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { type Triton } from 'tstriton';

import { bytesElements, expectAlive, post } from '../support/http-infer.js';
import { RawConnection } from '../support/raw-http.js';
import { startServer } from '../support/start-server.js';
import { temporaryFolder } from '../support/temporary-files.js';

const file = temporaryFolder();

function bind(triton: Triton): void {
  const identity = (modelName: string, dtype: 'float32' | 'bytes', shape: number[], batching = true) =>
    triton.bind({
      modelName,
      inferFunc: (requests) => requests,
      inputs: { INPUT0: { dtype, shape } },
      outputs: { OUTPUT0: { dtype, shape } },
      config: { batching, ...(batching ? { maxBatchSize: 8 } : {}) },
    });
  identity('onnx_zero_1_float32', 'float32', [-1]);
  identity('fixed', 'float32', [2, 2], false);
  identity('two_open', 'float32', [-1, -1]);
  identity('string', 'bytes', [1]);
  identity('strings', 'bytes', [-1]);
  triton.bind({
    modelName: 'two_inputs',
    inferFunc: (requests) => requests.map(({ inputs }) => ({ y: inputs.a })),
    inputs: { a: { dtype: 'float32', shape: [1] }, b: { dtype: 'float32', shape: [1] } },
    outputs: { y: { dtype: 'float32', shape: [1] } },
  });
}

const RAW = { headers: { 'inference-header-content-length': '0' } };
const FLOATS = Buffer.from(Float32Array.of(1, 2, 3, 4).buffer);

describe('L0_http: raw binary', () => {
  it('takes the body for the data of the only input', async () => {
    await using server = await startServer(bind);
    const open = await post(server.http, 'onnx_zero_1_float32', FLOATS, RAW);
    expect(open.json.outputs).toEqual([
      { name: 'OUTPUT0', datatype: 'FP32', shape: [1, 4], parameters: { binary_data_size: 16 } },
    ]);
    expect(open.binary).toEqual(FLOATS);
    const fixed = await post(server.http, 'fixed', FLOATS, RAW);
    expect([fixed.json.outputs[0]!.shape, fixed.binary]).toEqual([[2, 2], FLOATS]);
    const text = await post(server.http, 'string', 'héllo', RAW);
    expect([text.json.outputs[0]!.shape, text.binary]).toEqual([[1, 1], bytesElements('héllo')]);
  });

  it('takes an empty body, too, for a raw one', async () => {
    await using server = await startServer(bind);
    const { status, json } = await post(server.http, 'onnx_zero_1_float32', '');
    expect([status, json.outputs[0]!.shape]).toEqual([200, [1, 0]]);
  });

  it.each([
    [
      'two_inputs',
      FLOATS,
      "Raw request must only have 1 input (found 1) to be deduced but got 2 inputs in 'two_inputs' model configuration",
    ],
    [
      'two_open',
      FLOATS,
      "The shape of the raw input 'INPUT0' can not be deduced because there are more than one variable-sized dimension",
    ],
    ['strings', FLOATS, "For BYTE datatype raw input 'INPUT0', the model must have input shape [1]"],
    [
      'fixed',
      FLOATS.subarray(0, 12),
      "input byte size mismatch for input 'INPUT0' for model 'fixed'. Expected 16, got 12",
    ],
  ])('refuses what does not say its shape: %s', async (model, body, message) => {
    await using server = await startServer(bind);
    const { status, json } = await post(server.http, model, body, RAW);
    expect([status, json.error]).toEqual([400, `[request id: <id_unknown>] ${message}`]);
  });

  it('keeps raw bodies to the largest input size', async () => {
    await using server = await startServer(bind, { httpMaxInputSize: 15 });
    const { status, json } = await post(server.http, 'onnx_zero_1_float32', FLOATS, RAW);
    expect(status).toBe(400);
    expect(json.error).toBe(
      'Raw input has a byte_size (16 bytes) that exceeds the maximum allowed value of 15 bytes. Use --http-max-input-size to increase the limit.',
    );
  });
});

describe('L0_http: chunked', () => {
  const BODY = '{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,1],"data":[1]}]}';

  function inChunks(text: string, size: number): ReadableStream<Uint8Array> {
    let offset = 0;
    return new ReadableStream({
      pull(controller) {
        if (offset >= text.length) controller.close();
        else controller.enqueue(Buffer.from(text.slice(offset, (offset += size))));
      },
    });
  }

  it.each([1, 7, 1000])('takes bodies in chunks of %d bytes', async (size) => {
    await using server = await startServer(bind);
    const { status, json } = await post(server.http, 'onnx_zero_1_float32', inChunks(BODY, size));
    expect([status, json.outputs[0]!.data]).toEqual([200, [1]]);
  });

  it('refuses too many tiny chunks, and stays well', async () => {
    await using server = await startServer(bind);
    await using connection = await RawConnection.open(server.triton.httpPort!);
    await connection.send(
      'POST /v2/models/onnx_zero_1_float32/infer HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n',
      '1\r\n \r\n'.repeat(70_000),
    );
    const answer = await connection.answer();
    expect([answer?.status, answer?.body.toString()]).toEqual([
      400,
      '{"error":"Chunked request body exceeds maximum of 65536 non-empty chunks. Send fewer or larger HTTP chunks."}',
    ]);
    await connection.closed();
    await expectAlive(server.http);
  });
});

describe('L0_http: what a request may not say', () => {
  const MODEL = 'onnx_zero_1_float32';
  const INPUT = { name: 'INPUT0', datatype: 'FP32', shape: [1, 1], data: [1] };
  const input = (more: string) => `{"inputs":[{"name":"INPUT0","datatype":"FP32",${more}}]}`;

  it.each([
    ['as deep as is natural', 50, 200, undefined],
    ['as deep as is allowed', 100, 200, undefined],
    ['deeper', 101, 400, 'JSON nesting depth exceeds maximum allowed limit (100)'],
    ['deeper than any stack', 150_000, 400, 'JSON nesting depth exceeds maximum allowed limit (100)'],
  ])('data that is nested %s', async (_, depth, status, error) => {
    await using server = await startServer(bind);
    const data = `${'['.repeat(depth)}1${']'.repeat(depth)}`;
    const answer = await post(server.http, MODEL, input(`"shape":[1,1],"data":${data}`));
    expect([answer.status, answer.json.error]).toEqual([status, error]);
    await expectAlive(server.http);
  });

  it('anything behind a NUL that ends its JSON', async () => {
    await using server = await startServer(bind);
    const tensor = '"name":"INPUT0","datatype":"FP32","shape":[1,4],"parameters":{"binary_data_size":16}';
    for (const rest of ['', '"', '"i', '{"id":"no', '{"id":"3"}', '{"id":"4"}']) {
      const json = `{"inputs":[{${tensor}}],"id":"1"}\0${rest}`;
      const headers = { 'inference-header-content-length': String(json.length) };
      const answer = await post(server.http, MODEL, Buffer.concat([Buffer.from(json), FLOATS]), { headers });
      expect([rest, answer.status, answer.json.id]).toEqual([rest, 200, '1']);
    }
    await expectAlive(server.http);
  });

  it('members that nobody reads, as deep as data may be and no deeper', async () => {
    await using server = await startServer(bind);
    for (const [depth, status] of [
      [50, 200],
      [150_000, 400],
    ] as const) {
      const unread = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
      const body = `{"unread":${unread},"inputs":[${JSON.stringify(INPUT)}]}`;
      expect([(await post(server.http, MODEL, body)).status, depth]).toEqual([status, depth]);
    }
    await expectAlive(server.http);
  });

  it('an output twice', async () => {
    await using server = await startServer(bind);
    const body = JSON.stringify({ id: '7', inputs: [INPUT], outputs: [{ name: 'OUTPUT0' }, { name: 'OUTPUT0' }] });
    const { status, json } = await post(server.http, MODEL, body);
    expect([status, json.error]).toEqual([400, "[request id: 7] output 'OUTPUT0' already exists in request"]);
  });

  it.each([
    ['-1', 'inference header size should be in range (0, 4), got: -1'],
    ['5', 'inference header size should be in range (0, 4), got: 5'],
    ['x', 'Unable to parse Inference-Header-Content-Length, got: x'],
  ])('a length of its header of %s', async (length, error) => {
    await using server = await startServer(bind);
    const headers = { 'inference-header-content-length': length };
    const { status, json } = await post(server.http, MODEL, FLOATS.subarray(0, 4), { headers });
    expect([status, json.error]).toEqual([400, error]);
  });

  it.each([
    [
      '[-1,1]',
      400,
      "Unable to parse 'shape': attempt to access JSON non-unsigned-integer as unsigned-integer: expected integers of at least 0 for the shape of 'INPUT0', got -1 at index 0",
    ],
    [
      '[4294967296,4294967296]',
      400,
      "invalid shape for input 'INPUT0': shape [4294967296,4294967296] causes total element count to exceed maximum size of 9223372036854775807",
    ],
    [
      '[1,9223372036854775807]',
      400,
      "byte size overflow for input 'INPUT0': element count (9223372036854775807) * data type size (4) exceeds maximum allowed size (9223372036854775807)",
    ],
  ])('a shape of %s', async (shape, status, error) => {
    await using server = await startServer(bind);
    const answer = await post(server.http, MODEL, input(`"shape":${shape},"data":[1]`));
    expect([answer.status, answer.json.error]).toEqual([status, error]);
  });

  it('how long its body is in two ways, unlike Triton', async () => {
    await using server = await startServer(bind);
    await using connection = await RawConnection.open(server.triton.httpPort!);
    await connection.send(
      `POST /v2/models/${MODEL}/infer HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    );
    expect((await connection.answer())?.status).toBe(400);
    await connection.closed();
    await expectAlive(server.http);
  });
});

describe('L0_http: pages of other origins', () => {
  const preflight = {
    method: 'OPTIONS',
    headers: { origin: 'https://a.example', 'access-control-request-method': 'POST' },
  };

  it('may call the server when the operator says so', async () => {
    await using server = await startServer(bind, { corsAllowOrigin: 'https://a.example' });
    const url = `${server.http}/v2/models/string/infer`;
    const allowed = await fetch(url, preflight);
    expect([allowed.status, allowed.headers.get('access-control-allow-origin')]).toEqual([204, 'https://a.example']);
    const answer = await post(server.http, 'string', 'text', {
      headers: { ...RAW.headers, origin: 'https://a.example' },
    });
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://a.example');
    expect(answer.headers.get('access-control-expose-headers')).toContain('Inference-Header-Content-Length');
  });

  it('may not by default, as in Triton, and the log says so', async () => {
    const logFile = file('cors.log');
    await using server = await startServer(bind, { logFile });
    const refused = await fetch(`${server.http}/v2/models/string/infer`, preflight);
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([405, null]);
    await expect
      .poll(() => readFileSync(logFile, 'utf8'))
      .toContain("a page of 'https://a.example', which may not read");
  });
});
