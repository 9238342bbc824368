// Our HTTP/1.1 connections without anything of Triton's on them: the whole body is read, and a constant of the size of the identity
// model's answer is sent.

import { serveControl } from '../control-channel.js';
import { binaryAnswer } from '../identity-wire.js';

interface Exchange {
  receiveBody(plan: { limit: number; alignedAt: number; onBody(body: Buffer): void }): void;
  respond(status: number, headers: readonly string[], body: readonly Uint8Array[]): void;
}

interface Http1Build {
  readonly HttpServer: new (options: {
    readonly serve: (exchange: Exchange) => void;
    readonly onError: (error: Error) => void;
  }) => { listen(address: string, port: number): Promise<number>; close(): Promise<void> };
}

// Compiled, this module is build/bench/servers/http1-constant-server.js; no entry point of the package exports the connections.
const { HttpServer } = (await import(
  new URL('../../../dist/http1/http-server.js', import.meta.url).href
)) as Http1Build;

const body = Buffer.from(binaryAnswer.body);
const headers = [...Object.entries(binaryAnswer.headers).flat(), 'Content-Length', String(body.length)];

const server = new HttpServer({
  serve(exchange) {
    exchange.receiveBody({
      limit: Infinity,
      alignedAt: 0,
      onBody(received) {
        if (received.length > 0) exchange.respond(200, headers, [body]);
        else exchange.respond(404, ['Content-Length', '0'], []);
      },
    });
  },
  onError: (error) => {
    throw error;
  },
});
const port = await server.listen('127.0.0.1', 0);
serveControl({ ports: { httpPort: port }, stop: () => server.close() });
