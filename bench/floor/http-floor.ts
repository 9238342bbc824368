// The floor for HTTP: a bare node:http server that reads the whole body and answers a constant of the size of the
// identity model's answer. It parses nothing, so what a real server costs beyond it is that server's own work.

import { createServer } from 'node:http';

import { binaryAnswer, jsonAnswer } from '../identity-wire.js';
import { FLOOR_BINARY_PATH, FLOOR_JSON_PATH } from './floor-paths.js';
import type { HttpForm } from '../tensor-wire.js';
import { serveFloor } from './serve-floor.js';

const answers: ReadonlyMap<string, HttpForm> = new Map([
  [FLOOR_JSON_PATH, jsonAnswer],
  [FLOOR_BINARY_PATH, binaryAnswer],
]);

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const received = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
    const answer = answers.get(request.url ?? '');
    if (!answer || received.length === 0) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { ...answer.headers, 'content-length': answer.body.length });
    response.end(answer.body);
  });
});

serveFloor(server);
