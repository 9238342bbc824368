// The floor for a model mounted in an application: add-sub by hand on node:http. It reads the body, computes with the parsed JSON
// and checks nothing. A mounted model has the same server beneath it.

import { createServer } from 'node:http';

import { serveFloor } from './serve-floor.js';

interface AddSubInputs {
  readonly a: readonly number[];
  readonly b: readonly number[];
}

function addSub({ a, b }: AddSubInputs) {
  return { add: a.map((value, i) => value + b[i]!), sub: a.map((value, i) => value - b[i]!) };
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = JSON.stringify(addSub(JSON.parse(Buffer.concat(chunks).toString()) as AddSubInputs));
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
    response.end(body);
  });
});

serveFloor(server);
