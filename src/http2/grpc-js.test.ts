// Our connections with grpc-js at the other end, as client and as server: the messages are bytes, framed as gRPC does.
import {
  Client,
  credentials,
  Metadata,
  Server,
  ServerCredentials,
  status,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type sendUnaryData,
} from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { connectTo, HEAD, OK, startEcho } from '../../test/support/http2-echo.js';
import type { Http2Stream } from './http2-stream.js';
import { HeaderTemplate } from './outgoing-headers.js';

const PATH = '/package.Service/Method';
const same = (message: Buffer): Buffer => message;

const clients: Client[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

function clientOf(port: number): Client {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), {
    'grpc.max_receive_message_length': -1,
    'grpc.max_send_message_length': -1,
  });
  clients.push(client);
  return client;
}

function unary(client: Client, message: Buffer, metadata = new Metadata()): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(PATH, same, same, message, metadata, (error, answer) =>
      error ? reject(error) : resolve(answer!),
    );
  });
}

function framed(message: Buffer): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

describe('a client of grpc-js', () => {
  it('gets the messages that it sends to our server, large and small, one by one and at once', async () => {
    await using echo = await startEcho();
    const client = clientOf(echo.port);
    for (const length of [0, 1, 16_379, 16_380, 1 << 20]) {
      const message = Buffer.alloc(length, length);
      expect((await unary(client, message)).equals(message)).toBe(true);
    }
    const messages = Array.from({ length: 300 }, (_, i) => Buffer.alloc(i, i));
    const answers = await Promise.all(messages.map((message) => unary(client, message)));
    expect(answers.every((answer, i) => answer.equals(messages[i]!))).toBe(true);
    expect(echo.events).toEqual([]);
  });

  it('sends metadata that we read, again and again', async () => {
    const seen: (string | undefined)[] = [];
    await using echo = await startEcho({
      onStream: (stream, headers) => {
        seen.push(`${headers.get('x-text')} ${headers.get('x-data-bin')}`);
        return { onData: () => undefined, onEnd: () => stream.sendMessage(HEAD, [framed(Buffer.from('x'))], OK) };
      },
    });
    const metadata = new Metadata();
    metadata.set('x-text', 'value');
    metadata.set('x-data-bin', Buffer.from([0, 255]));
    const client = clientOf(echo.port);
    for (let i = 0; i < 3; i++) await unary(client, Buffer.from('x'), metadata);
    expect(seen).toEqual(Array(3).fill('value AP8='));
  });

  it('gets an answer of many messages, and the status of a call that failed', async () => {
    const failed = new HeaderTemplate(['grpc-status', '5', 'grpc-message', 'not here']);
    await using echo = await startEcho({
      onStream: (stream) => ({
        onData: () => undefined,
        onEnd: () => {
          stream.sendHeaders(HEAD);
          for (let i = 0; i < 1000; i++) stream.sendData(framed(Buffer.from(String(i))));
          stream.sendHeaders(failed, true);
        },
      }),
    });
    const call = clientOf(echo.port).makeServerStreamRequest(PATH, same, same, Buffer.from('x'));
    const messages: string[] = [];
    call.on('data', (message: Buffer) => messages.push(message.toString()));
    const error = await new Promise((resolve) => call.once('error', resolve));
    expect(messages).toEqual(Array.from({ length: 1000 }, (_, i) => String(i)));
    expect(error).toMatchObject({ code: status.NOT_FOUND, details: 'not here' });
  });

  it('cancels, which we are told', async () => {
    const events: string[] = [];
    await using echo = await startEcho({
      onStream: () => ({
        onData: () => void events.push('data'),
        onEnd: () => undefined,
        onClose: (error) => void events.push(error?.code ?? 'in order'),
      }),
    });
    const call = clientOf(echo.port).makeBidiStreamRequest(PATH, same, same);
    call.on('error', () => undefined);
    call.write(Buffer.from('x'));
    await expect.poll(() => events).toEqual(['data']);
    call.cancel();
    await expect.poll(() => events).toEqual(['data', 'CANCEL']);
  });

  it('makes calls while our server drains, on another connection if it can', async () => {
    const held: Http2Stream[] = [];
    await using echo = await startEcho({
      onStream: (stream) => ({ onData: () => undefined, onEnd: () => void held.push(stream) }),
    });
    const answer = unary(clientOf(echo.port), Buffer.from('x'));
    await expect.poll(() => held).toHaveLength(1);
    const closed = echo.server.close(60_000);
    held[0]!.sendMessage(HEAD, [framed(Buffer.from('done'))], OK);
    expect((await answer).toString()).toBe('done');
    await closed;
    expect(echo.events).toEqual(['closed in order']);
  });
});

describe('a server of grpc-js', () => {
  it('answers our client', async () => {
    const server = new Server({ 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 });
    const method = (name: string, isStream: boolean) => ({
      path: `/package.Service/${name}`,
      requestStream: isStream,
      responseStream: isStream,
      requestSerialize: same,
      requestDeserialize: same,
      responseSerialize: same,
      responseDeserialize: same,
    });
    server.addService(
      { Method: method('Method', false), Stream: method('Stream', true) },
      {
        Method: (call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) => answer(null, call.request),
        Stream: (call: ServerDuplexStream<Buffer, Buffer>) => {
          call.on('data', (message: Buffer) => void call.write(message));
          call.on('end', () => call.end());
        },
      },
    );
    const port = await new Promise<number>((resolve, reject) =>
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      ),
    );
    using client = connectTo(port);
    for (const length of [0, 10, 100_000, 3 << 20]) {
      const { headers, trailers, data } = await client.call([framed(Buffer.alloc(length, 7))]);
      expect(headers.slice(0, 2)).toEqual([':status', '200']);
      expect(trailers).toContain('grpc-status');
      expect(data.equals(framed(Buffer.alloc(length, 7)))).toBe(true);
    }
    const call = { ':method': 'POST', ':scheme': 'http', ':path': '/package.Service/Stream', ':authority': 'h' };
    const stream = new HeaderTemplate(
      Object.entries({ ...call, 'content-type': 'application/grpc', te: 'trailers' }).flat(),
    );
    const messages = Array.from({ length: 200 }, (_, i) => framed(Buffer.alloc(i, i)));
    expect((await client.call(messages, stream)).data.equals(Buffer.concat(messages))).toBe(true);
    client.socket.destroy();
    server.forceShutdown();
  });
});
