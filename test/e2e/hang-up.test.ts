// Clients that close their connection, or its sending half alone, whatever they did before: who is gone is noticed and its queued
// requests never run; who waits for an answer gets it. Each of them over HTTP and over TLS.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

import { create, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { ModelInferRequestSchema } from '../support/generated/grpc_service_pb.js';
import { HeldModel, HeldModelClients } from '../support/held-model.js';
import { framed } from '../support/raw-grpc.js';
import { selfSignedCertificate } from '../support/self-signed-certificate.js';
import { startServer, type RunningServer } from '../support/start-server.js';
import { temporaryFolder } from '../support/temporary-files.js';

const file = temporaryFolder();
const { cert, key } = selfSignedCertificate();

/** A request for numbers of its own, of which none is another request's. */
function infer(id: string, values: readonly number[], more = ''): string {
  const inputs = [{ name: 'x', datatype: 'FP32', shape: [1, values.length], data: values }];
  const body = JSON.stringify({ id, inputs });
  return `POST /v2/models/Held/infer HTTP/1.1\r\nHost: h\r\nContent-Length: ${body.length}\r\n${more}\r\n${body}`;
}

/** A request whose answer is as long in bytes. */
function binaryInfer(id: string, floats: number): Buffer {
  const parameters = { binary_data_size: 4 * floats };
  const inputs = [{ name: 'x', datatype: 'FP32', shape: [1, floats], parameters }];
  const json = JSON.stringify({ id, inputs, parameters: { binary_data_output: true } });
  const length = `Content-Length: ${json.length + 4 * floats}\r\nInference-Header-Content-Length: ${json.length}`;
  const head = `POST /v2/models/Held/infer HTTP/1.1\r\nHost: h\r\n${length}\r\n\r\n`;
  return Buffer.concat([
    Buffer.from(head + json),
    Buffer.from(Float32Array.from({ length: floats }, (_, i) => i).buffer),
  ]);
}

function dataOf(answer: string): unknown {
  const body = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)) as {
    readonly id: string;
    readonly outputs: readonly [{ readonly data: readonly number[] }];
  };
  return [body.id, ...body.outputs[0].data];
}

describe.each([
  { serverThread: true, tls: false },
  { serverThread: false, tls: false },
  { serverThread: true, tls: true },
  { serverThread: false, tls: true },
])('a client that closes its connection, with %o', ({ serverThread, tls }) => {
  async function start(model: HeldModel): Promise<RunningServer> {
    const [httpServerCert, httpServerKey] = [file('cert.pem'), file('key.pem')];
    writeFileSync(httpServerCert, cert);
    writeFileSync(httpServerKey, key);
    const secure = { httpUseSsl: true, httpServerCert, httpServerKey };
    return startServer((triton) => model.bind(triton), { serverThread, ...(tls ? secure : {}) });
  }

  async function open(server: RunningServer): Promise<Socket> {
    const to = { port: server.triton.httpPort!, host: '127.0.0.1', allowHalfOpen: true };
    const socket = tls ? connectTls({ ...to, ca: cert }) : connect(to);
    socket.on('error', () => undefined);
    await once(socket, tls ? 'secureConnect' : 'connect');
    return socket;
  }

  async function received(socket: Socket): Promise<string> {
    const pieces: Buffer[] = [];
    for await (const piece of socket) pieces.push(piece as Buffer);
    return Buffer.concat(pieces).toString();
  }

  it('is noticed after a large answer on the same connection', async () => {
    const model = new HeldModel({ maxBatchSize: 1 });
    await using server = await start(model);
    const socket = await open(server);
    let left = 0;
    socket.on('data', (piece: Buffer) => (left -= piece.length));
    const large = binaryInfer('large', 5_000_000);
    left = 20_000_000;
    socket.write(large);
    await model.began(1);
    model.end();
    await expect.poll(() => left).toBeLessThan(0);
    socket.write(infer('small', [1]));
    await model.began(2);
    socket.destroy();
    await model.abortedOne('small');
    model.open();
  });

  it.each([16, 20, 3000])('is noticed with %i pipelined requests, of which none begins any more', async (count) => {
    const model = new HeldModel({ maxBatchSize: 1 });
    await using server = await start(model);
    const socket = await open(server);
    const requests = Array.from({ length: count }, (_, i) => infer(`r${i}`, [i, i + 1]));
    socket.resume().write(requests.join(''));
    await model.began(1);
    // As much of it as the server reads is on its way when another one is answered.
    const other = await open(server);
    other.write(infer('other', [7]));
    socket.destroy();
    await model.abortedOne('r0');
    model.open();
    const [answer] = (await once(other, 'data')) as [Buffer];
    expect(dataOf(answer.toString())).toEqual(['other', 7]);
    expect(model.batches).toEqual(['r0', 'other']);
    other.destroy();
  });

  it('gets its answers when it closes its sending half alone', async () => {
    const model = new HeldModel({ maxBatchSize: 1 });
    await using server = await start(model);
    const [first, second] = [await open(server), await open(server)];
    first.end(infer('a', [1, 2]) + infer('b', [3]));
    await model.began(1);
    second.end(infer('c', [4, 5, 6], 'Connection: close\r\n'));
    const answers = [received(first), received(second)];
    for (let i = 1; i <= 3; i++) {
      await model.began(i);
      model.end();
    }
    const [both, third] = await Promise.all(answers);
    expect(both!.split(/(?=HTTP)/).map(dataOf)).toEqual([
      ['a', 1, 2],
      ['b', 3],
    ]);
    expect(dataOf(third!)).toEqual(['c', 4, 5, 6]);
    expect(model.aborted).toEqual([]);
  });

  it('is noticed when it had closed its sending half before', async () => {
    const model = new HeldModel({ maxBatchSize: 1 });
    await using server = await start(model);
    const socket = await open(server);
    socket.end(infer('a', [1]) + infer('b', [2]));
    await model.began(1);
    // The server has looked once whether it is there.
    await once(socket, 'data');
    socket.destroy();
    await model.abortedOne('a');
    model.open();
    expect(model.batches).toEqual(['a']);
  });
});

describe.each([true, false])('a gRPC client, with serverThread: %s', (serverThread) => {
  it('is noticed when it goes while its windows are shut', async () => {
    const model = new HeldModel({ maxBatchSize: 1 });
    await using server = await startServer((triton) => model.bind(triton), { serverThread });
    await using clients = new HeldModelClients(server, model);
    const session = connectHttp2(server.grpc.replace('grpc', 'http'));
    session.on('error', () => undefined);
    const ask = (id: string, floats: number) => {
      const stream = session.request({
        ':method': 'POST',
        ':path': '/inference.GRPCInferenceService/ModelInfer',
        'content-type': 'application/grpc',
        te: 'trailers',
      });
      const inputs = [{ name: 'x', datatype: 'FP32', shape: [1n, BigInt(floats)] }];
      const rawInputContents = [Buffer.alloc(4 * floats)];
      const request = create(ModelInferRequestSchema, { modelName: 'Held', id, inputs, rawInputContents });
      stream.on('error', () => undefined);
      stream.end(framed(Buffer.from(toBinary(ModelInferRequestSchema, request))));
      return stream;
    };
    const unread = ask('unread', 1_000_000);
    await model.began(1);
    model.end();
    await once(unread, 'readable');
    ask('running', 2);
    ask('waiting', 3);
    await model.began(2);
    await clients.waiting(1);
    session.destroy();
    await model.abortedOne('running');
    await clients.waiting(0);
    model.open();
    expect(model.batches).toEqual(['unread', 'running']);
  });
});
