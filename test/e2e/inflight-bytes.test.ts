// What all clients together may have the server hold, with a small budget: what there is no room for is refused, small requests
// are served on, and there is room again when a client has gone.
import { connect, type IncomingHttpHeaders } from 'node:http2';
import { gzipSync } from 'node:zlib';

import { create, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it, onTestFinished } from 'vitest';

import { ModelClient } from 'tstriton/client';
import { ModelInferRequestSchema } from '../support/generated/grpc_service_pb.js';
import { framed, rawGrpcCall } from '../support/raw-grpc.js';
import { encodeFrame, encodeHeaders, FLAG, FRAME, PREFACE, RawHttp2, setting } from '../support/raw-http2.js';
import { RawConnection } from '../support/raw-http.js';
import { stoppedClock } from '../support/standstill.js';
import { gate, inferJson, startServer, type RunningServer } from '../support/start-server.js';

const MIB = 1 << 20;
const WAIT = { timeout: 10_000 };
const INFER = '/inference.GRPCInferenceService/ModelInfer';

function start(serverThread: boolean, opened: Promise<void> = Promise.resolve()): Promise<RunningServer> {
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
        modelName: 'held',
        inputs: { x: { dtype: 'uint8', shape: [-1] } },
        outputs: { y: { dtype: 'uint8', shape: [1] } },
        config: { batching: false },
        inferFunc: async (requests) => {
          await opened;
          return requests.map(() => ({ y: Uint8Array.of(1) }));
        },
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

/** How many requests wait for the model `held`, beside the one that runs. */
async function waiting(server: RunningServer): Promise<number> {
  const text = await (await fetch(server.metrics)).text();
  const [, pending] = /pending_request_count\{model="held",version="1"\} (\d+)/.exec(text) ?? [];
  return Number(pending);
}

/** How many requests it has and has not answered. */
async function running(server: RunningServer): Promise<number> {
  const text = await (await fetch(server.metrics)).text();
  const [, inflight] = /tstriton_inflight_requests\{model="held",version="1"\} (\d+)/.exec(text) ?? [];
  return Number(inflight);
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

/** A gRPC request for the model `held`. */
function holds(bytes: number): Buffer {
  const inputs = [{ name: 'x', datatype: 'UINT8', shape: [BigInt(bytes)] }];
  const request = create(ModelInferRequestSchema, {
    modelName: 'held',
    inputs,
    rawInputContents: [Buffer.alloc(bytes)],
  });
  return Buffer.from(toBinary(ModelInferRequestSchema, request));
}

/** A stream of requests, each a message, and how many answers have come. */
function streamTo(server: RunningServer, messages: readonly Buffer[]) {
  // In megabytes: what the windows hold back waits in the client.
  const session = connect(server.grpc.replace('grpc', 'http'), { maxSessionMemory: 100 });
  const path = '/inference.GRPCInferenceService/ModelStreamInfer';
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  const received: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => received.push(chunk)).on('error', () => undefined);
  for (const message of messages) stream.write(framed(message));
  return {
    stream,
    get answers() {
      let count = 0;
      const bytes = Buffer.concat(received);
      for (let at = 0; at + 5 <= bytes.length; at += 5 + bytes.readUInt32BE(at + 1)) count++;
      return count;
    },
    [Symbol.dispose]: () => session.destroy(),
  };
}

/** A client that lets no data be sent, with so many answers of 5 MiB that wait for it, or are refused. */
async function readsNothing(server: RunningServer, calls: number): Promise<RawHttp2> {
  const noWindow = encodeFrame({ type: FRAME.SETTINGS, payload: setting(4, 0) });
  const acknowledged = encodeFrame({ type: FRAME.SETTINGS, flags: FLAG.ACK });
  const client = await RawHttp2.open(portOf(server.grpc), Buffer.concat([PREFACE, noWindow, acknowledged]));
  const block = encodeHeaders([
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', INFER],
    [':authority', 'h'],
    ['content-type', 'application/grpc'],
  ]);
  for (let i = 0; i < calls; i++) {
    const stream = 2 * i + 1;
    client.send(
      { type: FRAME.HEADERS, flags: FLAG.END_HEADERS, stream, payload: block },
      { type: FRAME.DATA, flags: FLAG.END_STREAM, stream, payload: wants(5 * MIB) },
    );
  }
  // Refusals are headers alone, which no window holds back.
  await client.until(() => client.countOf(FRAME.HEADERS) === calls);
  return client;
}

describe.each([{ serverThread: true }, { serverThread: false }])('a budget of bytes, with %o', ({ serverThread }) => {
  it('refuses requests that it has no room for, over HTTP and gRPC, until others are answered', async () => {
    const { open, opened } = gate();
    await using server = await start(serverThread, opened);
    await using first = new ModelClient(server.http, 'held', { retry: false });
    const held = first.inferSample({ x: new Uint8Array(27 * MIB) });
    await expect.poll(() => running(server), WAIT).toBe(1);
    await servesOn(server);
    await using second = await RawConnection.open(portOf(server.http));
    await second.send(uploadHead(27 * MIB));
    for (let i = 0; i < 27 && second.rest.length === 0; i++) await second.send(Buffer.alloc(MIB));
    const answer = await second.answer();
    expect([answer?.status, answer?.headers.get('retry-after'), answer?.body.toString()]).toEqual([
      503,
      '1',
      '{"error":"the requests of all clients together hold too many bytes: try again later"}',
    ]);
    await second.closed();
    await using client = new ModelClient(server.grpc, 'echo', { retry: false });
    const large = new Float32Array(25 * (MIB / 4));
    await expect(client.inferSample({ x: large })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('the requests of all clients together hold too many bytes: try again later'),
    });
    await servesOn(server);
    open();
    expect((await held).y!.data).toEqual(Uint8Array.of(1));
    await expect.poll(() => client.inferSample({ x: large }).then(() => 'answered', String), WAIT).toBe('answered');
  });

  it('refuses what has no room even alone, and says how large a request may be', async () => {
    await using server = await start(serverThread);
    await using http = await RawConnection.open(portOf(server.http));
    await http.send(uploadHead(28 * MIB + 1));
    const { status, headers, body } = (await http.answer())!;
    expect([status, headers.get('retry-after'), body.toString()]).toEqual([
      400,
      undefined,
      '{"error":"request size of 29360129 bytes exceeds the maximum allowed input size of 29360128 bytes"}',
    ]);
    const message = framed(Buffer.alloc(1000));
    message.writeUInt32BE(28 * MIB + 1, 1);
    expect((await rawGrpcCall(server.grpc, INFER, message)).status).toEqual({
      code: 8,
      message: 'Received message larger than max (29360129 vs. 29360128)',
    });
    await servesOn(server);
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
    const CALLS = 20;
    using unread = await readsNothing(server, CALLS);
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

  it('lets one message inflate to seven sixteenths of it', async () => {
    await using server = await start(serverThread);
    const statusOf = async (bytes: number) => {
      const message = framed(gzipSync(holds(bytes)));
      message[0] = 1;
      return (await rawGrpcCall(server.grpc, INFER, message, { 'grpc-encoding': 'gzip' })).status.code;
    };
    expect(await statusOf(27 * MIB)).toBe(0);
    expect(await statusOf(28 * MIB)).toBe(8);
    expect(await statusOf(27 * MIB)).toBe(0);
  });

  it('counts the requests of a stream until they are answered, and lets the client wait with further ones', async () => {
    const { open, opened } = gate();
    await using server = await start(serverThread, opened);
    await using client = new ModelClient(server.http, 'echo', { retry: false });
    const asked = () => client.inferSample({ x: new Float32Array(20 * (MIB / 4)) }).then(() => 'answered', String);
    const messages = (count: number) => Array.from({ length: count }, () => holds(5 * MIB));
    using first = streamTo(server, messages(6));
    using second = streamTo(server, messages(5));
    // Each has two, a quarter of the largest request together, and some of the third in its window. One runs.
    await expect.poll(() => waiting(server), WAIT).toBe(3);
    expect(await asked()).toContain('hold too many bytes');
    await servesOn(server);
    open();
    await expect.poll(() => [first.answers, second.answers], WAIT).toEqual([6, 5]);
    expect(await asked()).toBe('answered');
  });

  it('counts what small messages inflate to', async () => {
    const { open, opened } = gate();
    await using server = await start(serverThread, opened);
    const message = framed(gzipSync(holds(120 * 1024)));
    expect(message.length).toBeLessThan(1024);
    message[0] = 1;
    const session = connect(server.grpc.replace('grpc', 'http'));
    const statuses: number[] = [];
    const CALLS = 300;
    for (let i = 0; i < CALLS; i++) {
      const head = { ':method': 'POST', ':path': INFER, 'content-type': 'application/grpc', te: 'trailers' };
      const stream = session.request({ ...head, 'grpc-encoding': 'gzip' });
      const told = (headers: IncomingHttpHeaders) => {
        if (headers['grpc-status'] !== undefined) statuses.push(Number(headers['grpc-status']));
      };
      stream
        .on('response', told)
        .on('trailers', told)
        .on('error', () => undefined)
        .resume()
        .end(message);
    }
    // Half of the budget for what is large, at 120 KiB each, waits.
    const most = Math.floor((28 * MIB) / (120 * 1024));
    await expect.poll(() => statuses.length, WAIT).toBeGreaterThanOrEqual(CALLS - most);
    expect(new Set(statuses)).toEqual(new Set([8]));
    open();
    await expect.poll(() => statuses.length, WAIT).toBe(CALLS);
    session.destroy();
  });
});

// In this thread, where the test can have the time pass.
describe('a gRPC client that reads no answer for five minutes', () => {
  it('is disconnected, and nobody else', async () => {
    const clock = stoppedClock();
    onTestFinished(() => clock.goOn());
    await using server = await start(false);
    await using http = new ModelClient(server.http, 'large', { retry: false });
    await using grpc = new ModelClient(server.grpc, 'large', { retry: false });
    const ask = async (client: typeof http, bytes: number) =>
      (await client.inferSample({ x: Int32Array.of(bytes) })).y!.data.length;
    for (const client of [http, grpc]) await ask(client, 1);
    using first = await readsNothing(server, 5);
    using second = await readsNothing(server, 5);
    // They hold 40 MiB of 56.
    await expect(ask(grpc, 17 * MIB)).rejects.toMatchObject({ code: 'UNAVAILABLE' });

    await clock.pass(290);
    expect([first.isClosed, second.isClosed]).toEqual([false, false]);
    await clock.pass(12);
    await Promise.all([first.closed(), second.closed()]);
    expect(await ask(grpc, 17 * MIB)).toBe(17 * MIB);
    expect(await ask(http, 1)).toBe(1);
    await servesOn(server);
  });
});
