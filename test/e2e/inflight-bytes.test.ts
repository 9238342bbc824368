// What all clients together may have the server hold, with a small budget: what there is no room for is refused, small requests
// are served on, and there is room again when a client has gone.
import { gzipSync } from 'node:zlib';

import { describe, expect, it } from 'vitest';

import { ModelClient } from 'tstriton/client';
import { framed, rawGrpcCall } from '../support/raw-grpc.js';
import { encodeFrame, encodeHeaders, FLAG, FRAME, PREFACE, RawHttp2 } from '../support/raw-http2.js';
import { RawConnection } from '../support/raw-http.js';
import { inferJson, startServer, type RunningServer } from '../support/start-server.js';

const MIB = 1 << 20;
const WAIT = { timeout: 10_000 };
const INFER = '/inference.GRPCInferenceService/ModelInfer';

function start(serverThread: boolean): Promise<RunningServer> {
  return startServer(
    (triton) => {
      triton.bind({
        modelName: 'echo',
        inputs: { x: { dtype: 'float32', shape: [-1] } },
        outputs: { y: { dtype: 'float32', shape: [-1] } },
        config: { batching: false },
        inferFunc: (requests) => requests,
      });
      triton.bind({
        modelName: 'large',
        inputs: { x: { dtype: 'int32', shape: [1] } },
        outputs: { y: { dtype: 'uint8', shape: [-1] } },
        config: { batching: false },
        inferFunc: (requests) => requests.map(({ inputs: { x } }) => ({ y: new Uint8Array(x.data[0]!) })),
      });
    },
    { serverThread, maxInflightBytes: 64 * MIB },
  );
}

const portOf = (url: string) => Number(new URL(url).port);

function uploadHead(length: number): string {
  return `POST /v2/models/echo/infer HTTP/1.1\r\nHost: h\r\nContent-Length: ${length}\r\nInference-Header-Content-Length: 10\r\n\r\n`;
}

/** Small ones are served. */
async function servesOn(server: RunningServer): Promise<void> {
  const { status } = await inferJson(server.http, 'echo', [{ name: 'x', datatype: 'FP32', shape: [2], data: [1, 2] }]);
  expect(status).toBe(200);
  expect((await fetch(`${server.http}/v2/health/ready`)).status).toBe(200);
}

/** A gRPC request for the model `large`. */
function wants(bytes: number): Buffer {
  const field = (number: number, content: Buffer | string) => {
    const value = Buffer.from(content);
    return Buffer.concat([Buffer.of(number * 8 + 2, value.length), value]);
  };
  const contents = Buffer.alloc(4);
  contents.writeInt32LE(bytes);
  const input = Buffer.concat([field(1, 'x'), field(2, 'INT32'), field(3, Buffer.of(1))]);
  return framed(Buffer.concat([field(1, 'large'), field(5, input), field(7, contents)]));
}

describe.each([{ serverThread: true }, { serverThread: false }])('a budget of bytes, with %o', ({ serverThread }) => {
  it('refuses requests that it has no room for, over HTTP and gRPC, until others have gone', async () => {
    await using server = await start(serverThread);
    const first = await RawConnection.open(portOf(server.http));
    await using second = await RawConnection.open(portOf(server.http));
    await first.send(uploadHead(30 * MIB), Buffer.alloc(MIB));
    await servesOn(server);
    await second.send(uploadHead(30 * MIB));
    const answer = await second.answer();
    expect([answer?.status, answer?.headers.get('retry-after'), answer?.body.toString()]).toEqual([
      503,
      '1',
      '{"error":"the requests of all clients together hold too many bytes: try again later"}',
    ]);
    await second.closed();
    await using client = new ModelClient(server.grpc, 'echo');
    const large = new Float32Array(30 * (MIB / 4));
    await expect(client.inferSample({ x: large })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('the requests of all clients together hold too many bytes: try again later'),
    });
    await servesOn(server);
    await first[Symbol.asyncDispose]();
    await expect.poll(() => client.inferSample({ x: large }).then(() => 'answered', String), WAIT).toBe('answered');
  });

  it('refuses what grows beyond it: chunked bodies, and what is inflated', async () => {
    await using server = await start(serverThread);
    const zeros = Buffer.alloc(60 * MIB);
    const inflated = await fetch(`${server.http}/v2/models/echo/infer`, {
      method: 'POST',
      headers: { 'content-encoding': 'gzip' },
      body: gzipSync(zeros),
    });
    expect([inflated.status, inflated.headers.get('retry-after')]).toEqual([503, '1']);
    const message = gzipSync(zeros);
    const prefixed = framed(message);
    prefixed[0] = 1;
    const { status } = await rawGrpcCall(server.grpc, INFER, prefixed, { 'grpc-encoding': 'gzip' });
    expect(status).toEqual({ code: 8, message: 'there is no room for what the message inflates to: try again later' });
    await using chunked = await RawConnection.open(portOf(server.http));
    await chunked.send(
      'POST /v2/models/echo/infer HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nInference-Header-Content-Length: 10\r\n\r\n',
    );
    for (let i = 0; i < 60 && chunked.rest.length === 0; i++) {
      await chunked.send(Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(MIB), Buffer.from('\r\n')]));
    }
    expect((await chunked.answer())?.status).toBe(503);
    await servesOn(server);
  });

  it('refuses answers that it has no room for, while others are not read', async () => {
    await using server = await start(serverThread);
    using unread = await RawHttp2.open(
      portOf(server.grpc),
      Buffer.concat([PREFACE, encodeFrame({ type: FRAME.SETTINGS, payload: Buffer.from('000400000000', 'hex') })]),
    );
    const block = encodeHeaders([
      [':method', 'POST'],
      [':scheme', 'http'],
      [':path', INFER],
      [':authority', 'h'],
      ['content-type', 'application/grpc'],
    ]);
    const CALLS = 20;
    for (let i = 0; i < CALLS; i++) {
      const stream = 2 * i + 1;
      unread.send(
        { type: FRAME.HEADERS, flags: FLAG.END_HEADERS, stream, payload: block },
        { type: FRAME.DATA, flags: FLAG.END_STREAM, stream, payload: wants(5 * MIB) },
      );
    }
    // Refusals are headers alone, which no window holds back.
    await unread.until(() => unread.countOf(FRAME.HEADERS) === CALLS);
    const refused = unread.frames.filter(
      ({ type, flags }) => type === FRAME.HEADERS && (flags & FLAG.END_STREAM) !== 0,
    );
    // Half of the budget for what is large, at 5 MiB each, waits.
    expect(refused.length).toBe(CALLS - 5);
    const answer = await inferJson(server.http, 'large', [
      { name: 'x', datatype: 'INT32', shape: [1], data: [5 * MIB] },
    ]);
    expect(answer.status).toBe(200);
    await servesOn(server);
  });
});
