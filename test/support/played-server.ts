// A server of either protocol that answers inferences as a test says: what has to be the same over both is written once.

import {
  answerGrpcInfer,
  answerInfer,
  answerJson,
  failGrpc,
  readGrpcInfer,
  readInfer,
  startGrpc,
  startHttp,
  type FakeServer,
} from './fake-servers.js';

export type Protocol = 'http' | 'grpc';
export const PROTOCOLS = ['http', 'grpc'] as const;

/** One inference that has come, to be answered in one way. */
export interface PlayedCall {
  /** Counted from 1. */
  readonly number: number;
  /** The input `x`, FP32. */
  readonly x: Float32Array;
  /** The rows of the input, and its other dimensions. */
  readonly shape: readonly number[];
  /** The output `y`: the input, unless there is another. */
  answer(y?: Float32Array, shape?: readonly number[]): void;
  /** UNAVAILABLE; `afterSeconds`: when to come again. */
  refuse(message: string, afterSeconds?: number): void;
  /** Any other error: INVALID_ARG. */
  fail(message: string): void;
  /** NOT_FOUND. */
  miss(message: string): void;
  /** Closes the connection. */
  drop(): void;
  /** Settles when the client has left. */
  readonly left: Promise<void>;
}

export interface PlayedServer extends FakeServer {
  readonly url: string;
}

export async function startPlayed(
  protocol: Protocol,
  play: (call: PlayedCall) => void,
  port = 0,
): Promise<PlayedServer> {
  let number = 0;
  if (protocol === 'http') {
    const server = await startHttp((request, response) => {
      const { json, blobs } = readInfer(request);
      const { shape } = json.inputs[0]!;
      const bytes = Uint8Array.from(blobs[0]!);
      play({
        number: ++number,
        x: new Float32Array(bytes.buffer),
        shape,
        answer: (y, ownShape = shape) =>
          answerInfer(response, [{ name: 'y', datatype: 'FP32', shape: ownShape, bytes: bytesOf(y) ?? bytes }]),
        refuse: (message, afterSeconds) => {
          if (afterSeconds !== undefined) response.setHeader('retry-after', String(afterSeconds));
          answerJson(response, 503, { error: message });
        },
        fail: (message) => answerJson(response, 400, { error: message }),
        miss: (message) => answerJson(response, 404, { error: message }),
        drop: () => void request.socket.destroy(),
        left: new Promise((resolve) => void response.once('close', () => resolve())),
      });
    }, port);
    return { ...server, url: `http://${server.authority}` };
  }
  const server = await startGrpc(
    ({ message, stream, method, headers }) => {
      const { inputs, rawInputContents } = readGrpcInfer({ message, stream, method, headers });
      const shape = inputs[0]!.shape.map(Number);
      const bytes = Uint8Array.from(rawInputContents[0]!);
      play({
        number: ++number,
        x: new Float32Array(bytes.buffer),
        shape,
        answer: (y, ownShape = shape) => {
          if (!stream.destroyed)
            answerGrpcInfer(stream, [{ name: 'y', datatype: 'FP32', shape: ownShape, bytes: bytesOf(y) ?? bytes }]);
        },
        refuse: (text, afterSeconds) => {
          const pushback =
            afterSeconds === undefined ? {} : { 'grpc-retry-pushback-ms': String(Math.round(afterSeconds * 1000)) };
          stream.respond(
            {
              ':status': 200,
              'content-type': 'application/grpc',
              'grpc-status': '14',
              'grpc-message': text,
              ...pushback,
            },
            { endStream: true },
          );
        },
        fail: (text) => failGrpc(stream, 3, text),
        miss: (text) => failGrpc(stream, 5, text),
        drop: () => server.connections.at(-1)!.destroy(),
        left: new Promise((resolve) => void stream.once('close', () => resolve())),
      });
    },
    {},
    port,
  );
  return { ...server, url: `grpc://${server.authority}` };
}

function bytesOf(data: Float32Array | undefined): Uint8Array | undefined {
  return data === undefined ? undefined : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}
