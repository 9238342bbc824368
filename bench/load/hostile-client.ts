// Sends one hostile request over a connection of its own and reads what comes back, keeping none of it.

import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';

import { lengthOf, type HostileBody, type HostileRequest } from '../hostile-requests.js';

/** The outcome in a word or two: a status, or how the connection ended. */
export function sendHostile(request: HostileRequest, port: number): Promise<string> {
  return request.protocol === 'http' ? sendHttp(request, port) : sendGrpc(request, port);
}

interface Writable {
  write(chunk: Buffer): boolean;
  once(event: 'drain' | 'close', listener: () => void): unknown;
  off(event: 'drain' | 'close', listener: () => void): unknown;
  readonly destroyed: boolean;
}

/** As fast as the other side takes it; ends early when it takes no more. */
async function writeBody(target: Writable, { parts }: HostileBody): Promise<void> {
  for (const [part, times] of parts) {
    for (let i = 0; i < times; i++) {
      if (target.destroyed) return;
      if (target.write(part)) continue;
      await new Promise<void>((resolve) => {
        const go = () => {
          target.off('drain', go);
          target.off('close', go);
          resolve();
        };
        target.once('drain', go);
        target.once('close', go);
      });
    }
  }
}

function sendHttp({ path, headers = {}, body }: HostileRequest, port: number): Promise<string> {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `POST ${path} HTTP/1.1\r\nhost: h\r\nconnection: close\r\ncontent-length: ${lengthOf(body)}\r\n${lines.join('')}\r\n`;
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    let status = 'closed without an answer';
    socket.on('data', (bytes) => {
      if (status.length > 3) status = bytes.toString('latin1', 9, 12);
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (status.length > 3) status = error.code ?? error.message;
    });
    socket.on('close', () => resolve(status));
    socket.write(head);
    void writeBody(socket, body);
  });
}

const WINDOW_BYTES = 64 * 1024 * 1024;

function sendGrpc({ path, body }: HostileRequest, port: number): Promise<string> {
  return new Promise((resolve) => {
    const session = connectHttp2(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: WINDOW_BYTES } });
    session.on('error', () => undefined);
    session.on('connect', () => session.setLocalWindowSize(WINDOW_BYTES));
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    let status = 'closed without a status';
    const note = (headers: NodeJS.Dict<string | string[]>) => {
      if (headers['grpc-status'] !== undefined) status = String(headers['grpc-status']);
    };
    stream.on('response', note);
    stream.on('trailers', note);
    stream.on('data', () => undefined);
    stream.on('error', () => undefined);
    stream.on('close', () => {
      session.destroy();
      resolve(status);
    });
    void writeBody(stream, body).then(() => {
      if (!stream.destroyed) stream.end();
    });
  });
}
