// gRPC calls whose messages are bytes that a test made, over node:http2.
import { once } from 'node:events';
import { connect, type IncomingHttpHeaders } from 'node:http2';

export interface RawGrpcAnswer {
  readonly headers: IncomingHttpHeaders;
  /** Those of the end, wherever they stood. */
  readonly status: Readonly<{ code: number; message: string }>;
  readonly body: Buffer;
}

/** One message with its prefix. */
export function framed(message: Buffer): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** Sends a body that is whatever it is to `grpc://host:port`. */
export async function rawGrpcCall(
  url: string,
  path: string,
  body: Buffer,
  more: Readonly<Record<string, string>> = {},
): Promise<RawGrpcAnswer> {
  const session = connect(url.replace('grpc', 'http'));
  try {
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...more,
    });
    let headers: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders = {};
    stream.on('response', (given) => (headers = given)).on('trailers', (given) => (trailers = given));
    // A server that has seen enough resets the stream after its answer.
    stream.on('error', () => undefined);
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.end(body);
    await once(stream, 'close');
    const end = { ...headers, ...trailers };
    const message = decodeURIComponent(String(end['grpc-message'] ?? ''));
    return { headers, status: { code: Number(end['grpc-status']), message }, body: Buffer.concat(chunks) };
  } finally {
    session.destroy();
  }
}
