// Servers that do next to nothing, on node:net: they find where a request ends and write a constant. No real server can
// be faster in this runtime, so the rate they reach is the load generator's ceiling, and that is what they are for.

import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

import { serveControl } from '../control-channel.js';
import { binaryAnswer, grpcRequests, jsonAnswer } from '../identity-wire.js';
import { Http2FrameReader } from '../load/http2-frame-reader.js';
import type { Frame } from '../load/http2-frame-reader.js';
import { DEFAULT_WINDOW, FLAG, FRAME, frame, LARGEST_WINDOW, settings, windowUpdate } from '../load/http2-frames.js';
import { FLOOR_BINARY_PATH } from './floor-paths.js';
import type { HttpForm } from '../tensor-wire.js';

const PREFACE_LENGTH = 24;

function httpAnswer(form: HttpForm): Buffer {
  const headers = { ...form.headers, 'content-length': String(form.body.length) };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\n${lines.join('')}\r\n`), form.body]);
}

// Requests of one connection are equally long: the first tells how long each is, and which form is wanted.
function serveHttp(socket: Socket): void {
  let answer: Buffer = Buffer.alloc(0);
  let requestLength = 0;
  let received: Buffer = Buffer.alloc(0);
  let missing = 0;
  const measure = (chunk: Buffer): boolean => {
    received = Buffer.concat([received, chunk]);
    const headerEnd = received.indexOf('\r\n\r\n');
    if (headerEnd === -1) return false;
    const head = received.toString('latin1', 0, headerEnd);
    const bodyLength = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
    requestLength = headerEnd + 4 + bodyLength;
    answer = httpAnswer(head.includes(` ${FLOOR_BINARY_PATH} `) ? binaryAnswer : jsonAnswer);
    missing = requestLength;
    return true;
  };
  socket.on('data', (chunk: Buffer) => {
    let length = chunk.length;
    if (requestLength === 0) {
      if (!measure(chunk)) return;
      length = received.length;
    }
    missing -= length;
    while (missing <= 0) {
      missing += requestLength;
      socket.write(answer);
    }
  });
}

// Response headers in HPACK's static table and literals: ":status: 200" and "content-type: application/grpc", then
// "grpc-status: 0" as trailers.
const responseHeaders = Buffer.concat([Buffer.of(0x88, 0x0f, 0x10, 16), Buffer.from('application/grpc')]);
const trailers = Buffer.concat([Buffer.of(0x00, 11), Buffer.from('grpc-status'), Buffer.of(1), Buffer.from('0')]);

function grpcAnswer(message: Buffer): { readonly bytes: Buffer; readonly idsAt: readonly number[] } {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  const frames = [
    frame(FRAME.HEADERS, FLAG.END_HEADERS, 0, responseHeaders),
    frame(FRAME.DATA, 0, 0, Buffer.concat([prefix, message])),
    frame(FRAME.HEADERS, FLAG.END_HEADERS | FLAG.END_STREAM, 0, trailers),
  ];
  const starts = [0, frames[0]!.length, frames[0]!.length + frames[1]!.length];
  return { bytes: Buffer.concat(frames), idsAt: starts.map((start) => start + 5) };
}

const answerFrames = grpcAnswer(grpcRequests[0]!);

function serveGrpc(socket: Socket): void {
  let skip = PREFACE_LENGTH;
  let ended: number[] = [];
  const reader = new Http2FrameReader({
    frame(head: Frame, bytes: Buffer, range): void {
      if (head.type === FRAME.DATA && (head.flags & FLAG.END_STREAM) !== 0) ended.push(head.streamId);
      if (head.type === FRAME.SETTINGS && (head.flags & FLAG.ACK) === 0) {
        socket.write(frame(FRAME.SETTINGS, FLAG.ACK, 0, new Uint8Array(0)));
      }
      if (head.type === FRAME.PING && (head.flags & FLAG.ACK) === 0) {
        socket.write(frame(FRAME.PING, FLAG.ACK, 0, Buffer.from(bytes.subarray(range.start, range.end))));
      }
    },
  });
  // The connection's window lasts for 2^31 bytes of requests, more than one run sends.
  socket.write(Buffer.concat([settings([]), windowUpdate(0, LARGEST_WINDOW - DEFAULT_WINDOW)]));
  socket.on('data', (chunk: Buffer) => {
    const start = Math.min(skip, chunk.length);
    skip -= start;
    reader.read(chunk, start, chunk.length);
    if (ended.length === 0) return;
    const out = Buffer.allocUnsafeSlow(answerFrames.bytes.length * ended.length);
    ended.forEach((id, i) => {
      const at = i * answerFrames.bytes.length;
      out.set(answerFrames.bytes, at);
      for (const idAt of answerFrames.idsAt) out.writeUInt32BE(id, at + idAt);
    });
    ended = [];
    socket.write(out);
  });
}

const sockets = new Set<Socket>();

function listen(serve: (socket: Socket) => void): Promise<Server> {
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy()); // a client that went away is not this server's concern
    serve(socket);
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

const http = await listen(serveHttp);
const grpc = await listen(serveGrpc);
serveControl({
  ports: { httpPort: (http.address() as AddressInfo).port, grpcPort: (grpc.address() as AddressInfo).port },
  stop: () => {
    http.close();
    grpc.close();
    for (const socket of sockets) socket.destroy();
    return Promise.resolve();
  },
});
