// Serves a handler of the Fetch standard over node:http, as adapters of frameworks do: bodies are streamed both ways.

import { createServer, type Server } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';

export function serveFetch(handler: (request: Request) => Promise<Response>): Server {
  return createServer((request, response) => {
    const { method = 'GET', url = '/' } = request;
    const headers = Object.entries(request.headers).filter(([name]) => name !== 'connection') as [string, string][];
    const init = {
      method,
      headers,
      body: Readable.toWeb(request) as globalThis.ReadableStream,
      duplex: 'half',
    } as const;
    handler(new Request(new URL(url, 'http://h'), init))
      .then((answer) => {
        response.writeHead(answer.status, Object.fromEntries(answer.headers));
        return pipeline(Readable.fromWeb(answer.body as ReadableStream), response);
      })
      .catch(() => response.destroy());
  });
}
