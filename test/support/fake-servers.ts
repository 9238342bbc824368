// Servers that play whatever a test wants to a client, on free ports: HTTP/1.1, and HTTP/2 for gRPC. Made with Node's
// servers and generated messages, not with the codecs under test.
import { create, fromBinary, toBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import {
  createServer as createHttp2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type Settings,
} from 'node:http2';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';

import {
  ModelConfigResponseSchema,
  ModelInferRequestSchema,
  ModelInferResponseSchema,
  type ModelInferRequest,
} from './generated/grpc_service_pb.js';

export interface FakeServer extends AsyncDisposable {
  /** `127.0.0.1:<port>`. */
  readonly authority: string;
  /** All connections that were ever made. */
  readonly connections: Socket[];
}

async function listen(server: Server, port = 0, sessions: Set<ServerHttp2Session> = new Set()): Promise<FakeServer> {
  const connections: Socket[] = [];
  server.on('connection', (socket: Socket) => {
    connections.push(socket);
    socket.on('error', () => {});
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    authority: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const session of sessions) session.destroy();
      for (const socket of connections) socket.destroy();
      await closed;
    },
  };
}

/** A TCP server that speaks no protocol of its own. */
export function startTcp(onConnection: (socket: Socket) => void): Promise<FakeServer> {
  return listen(createTcpServer(onConnection));
}

export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
  readonly socket: Socket;
}

/** Hands over each request once its body is complete. */
export function startHttp(
  onRequest: (request: HttpRequest, response: ServerResponse) => void,
  port = 0,
): Promise<FakeServer> {
  return listen(
    createHttpServer((message, response) => {
      const chunks: Buffer[] = [];
      message.on('data', (chunk: Buffer) => chunks.push(chunk));
      message.on('error', () => {});
      message.on('end', () => {
        const { method = '', url: path = '', headers, socket } = message;
        onRequest({ method, path, headers, body: Buffer.concat(chunks), socket }, response);
      });
    }),
    port,
  );
}

export interface WireTensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

/** The JSON of an infer request and the bytes of each input behind it. */
export function readInfer({ headers, body }: HttpRequest) {
  const length = Number(headers['inference-header-content-length']);
  const json = JSON.parse(body.toString('utf8', 0, length)) as {
    readonly id?: string;
    readonly parameters?: Record<string, unknown>;
    readonly inputs: readonly {
      name: string;
      datatype: string;
      shape: number[];
      parameters: { binary_data_size: number };
    }[];
    readonly outputs?: readonly { name: string; parameters: { binary_data: boolean } }[];
  };
  let offset = length;
  const blobs = json.inputs.map((input) => body.subarray(offset, (offset += input.parameters.binary_data_size)));
  return { json, blobs, end: offset };
}

/** Answers an infer request with binary tensors. */
export function answerInfer(response: ServerResponse, outputs: readonly WireTensor[]): void {
  const json = Buffer.from(
    JSON.stringify({
      model_name: 'M',
      model_version: '1',
      outputs: outputs.map(({ name, datatype, shape, bytes }) => ({
        name,
        datatype,
        shape,
        parameters: { binary_data_size: bytes.byteLength },
      })),
    }),
  );
  response.writeHead(200, {
    'content-type': 'application/octet-stream',
    'inference-header-content-length': json.length,
  });
  response.end(Buffer.concat([json, ...outputs.map(({ bytes }) => bytes)]));
}

export function answerJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

export interface GrpcRequest {
  /** `ModelInfer`, `ModelConfig`, … */
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly message: Buffer;
  readonly stream: ServerHttp2Stream;
}

export interface FakeGrpcServer extends FakeServer {
  readonly sessions: ReadonlySet<ServerHttp2Session>;
}

/** Hands over each call once its request message is complete. */
export async function startGrpc(
  onCall: (request: GrpcRequest) => void,
  settings: Settings = {},
  port = 0,
): Promise<FakeGrpcServer> {
  const server = createHttp2Server({ settings });
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session) => sessions.add(session));
  server.on('sessionError', () => {});
  server.on('stream', (stream, headers) => {
    const chunks: Buffer[] = [];
    stream.on('error', () => {});
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      if (stream.destroyed) return;
      const method = String(headers[':path']).replace('/inference.GRPCInferenceService/', '');
      onCall({
        method,
        headers: headers as Record<string, string>,
        message: Buffer.concat(chunks).subarray(5),
        stream,
      });
    });
  });
  return { ...(await listen(server as unknown as Server, port, sessions)), sessions };
}

export function readGrpcInfer({ message }: GrpcRequest): ModelInferRequest {
  return fromBinary(ModelInferRequestSchema, message);
}

export function answerGrpcInfer(stream: ServerHttp2Stream, outputs: readonly WireTensor[]): void {
  const message = toBinary(
    ModelInferResponseSchema,
    create(ModelInferResponseSchema, {
      modelName: 'M',
      modelVersion: '1',
      outputs: outputs.map(({ name, datatype, shape }) => ({ name, datatype, shape: shape.map(BigInt) })),
      rawOutputContents: outputs.map(({ bytes }) => Uint8Array.from(bytes)),
    }),
  );
  answerGrpc(stream, message);
}

export function answerGrpcConfig(
  stream: ServerHttp2Stream,
  config: MessageInitShape<typeof ModelConfigResponseSchema>['config'] & object,
): void {
  answerGrpc(stream, toBinary(ModelConfigResponseSchema, create(ModelConfigResponseSchema, { config })));
}

const GRPC_HEADERS = { ':status': 200, 'content-type': 'application/grpc' };

export function answerGrpc(
  stream: ServerHttp2Stream,
  message: Uint8Array,
  trailers: Record<string, string> = { 'grpc-status': '0' },
): void {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.byteLength, 1);
  stream.respond(GRPC_HEADERS, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  stream.write(prefix);
  stream.end(message);
}

/** Nothing but a status, in the first headers. */
export function failGrpc(stream: ServerHttp2Stream, status: number, message = ''): void {
  stream.respond({ ...GRPC_HEADERS, 'grpc-status': String(status), 'grpc-message': message }, { endStream: true });
}

/** The bytes of typed data. */
export function bytesOf(data: ArrayBufferView): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}
