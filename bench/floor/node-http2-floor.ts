// node:http2 without anything on it: what is sent comes back, as a gRPC server would frame it.

import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';

import { serveControl } from '../control-channel.js';

const WINDOW = 16 << 20;
const WITH_TRAILERS = { waitForTrailers: true, sendDate: false };

const server = createServer({
  settings: { initialWindowSize: WINDOW, maxFrameSize: 1 << 20, maxConcurrentStreams: 1000 },
  maxSessionMemory: 1 << 10,
});
server.on('session', (session) => session.setLocalWindowSize(4 * WINDOW));
server.on('stream', (stream, headers) => {
  const length = headers['content-length'];
  const chunks: Buffer[] = [];
  let message: Buffer | undefined = length === undefined ? undefined : Buffer.allocUnsafeSlow(Number(length));
  let filled = 0;
  stream.on('error', () => undefined); // a client that went away is not this server's concern
  stream.on('data', (chunk: Buffer) => {
    if (message === undefined) chunks.push(chunk);
    else filled += chunk.copy(message, filled);
  });
  stream.on('end', () => {
    message ??= chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, WITH_TRAILERS);
    stream.end(message);
  });
});

const sessions = new Set<{ destroy(): void }>();
server.on('session', (session) => {
  sessions.add(session);
  session.on('close', () => sessions.delete(session));
});
server.listen(0, '127.0.0.1', () => {
  serveControl({
    ports: { grpcPort: (server.address() as AddressInfo).port },
    stop: () => {
      server.close();
      for (const session of sessions) session.destroy();
      return Promise.resolve();
    },
  });
});
