// The floor for large tensors: a bare node:http server that collects the whole body, and answers with it (/echo) or with a few
// bytes (/sink).

import { createServer } from 'node:http';

import { serveFloor } from './serve-floor.js';

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks);
    const answer = request.url === '/echo' ? body : Buffer.from(String(body.length));
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': answer.length });
    response.end(answer);
  });
});

serveFloor(server);
