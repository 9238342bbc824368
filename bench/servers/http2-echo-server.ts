// Our HTTP/2 connections without anything of Triton's on them: what is sent comes back, as a gRPC server would frame it. Requests
// that announce their length are received where they are sent from, others in the pieces in which they come.

import { serveControl } from '../control-channel.js';
import { loadHttp2Build, type Stream, type StreamListener } from '../http2-build.js';

const { Http2Server, HeaderTemplate } = await loadHttp2Build();

const HEAD = new HeaderTemplate([':status', '200', 'content-type', 'application/grpc']);
const OK = new HeaderTemplate(['grpc-status', '0']);

/** A message of a few pieces. */
class SmallEcho implements StreamListener {
  readonly #stream: Stream;
  readonly #chunks: Buffer[] = [];

  constructor(stream: Stream) {
    this.#stream = stream;
  }

  onData(chunk: Buffer): void {
    this.#chunks.push(Buffer.from(chunk));
  }

  onEnd(): void {
    this.#stream.sendMessage(HEAD, this.#chunks, OK);
  }
}

/** A message of known length, in memory of its own. */
class LargeEcho implements StreamListener {
  readonly #stream: Stream;
  readonly #message: Buffer;

  constructor(stream: Stream, length: number) {
    this.#stream = stream;
    this.#message = Buffer.allocUnsafeSlow(length);
    stream.receiveInto(this.#message);
  }

  onData(): void {}

  onEnd(): void {
    this.#stream.sendMessage(HEAD, [this.#message], OK);
  }
}

const server = new Http2Server({
  listen: () => ({
    onStream: (stream, headers) => {
      const length = headers.get('content-length');
      return length === undefined ? new SmallEcho(stream) : new LargeEcho(stream, Number(length));
    },
  }),
});
const port = await server.listen('127.0.0.1', 0);
serveControl({ ports: { grpcPort: port }, stop: () => server.close(0) });
