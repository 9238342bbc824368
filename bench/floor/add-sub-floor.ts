// The floor for a model mounted in an application: add-sub by hand on node:http, or as a handler of Fetch's requests. It reads the
// body, computes with the parsed JSON and checks nothing. A mounted model has the same server beneath it. Usage:
// add-sub-floor.js [fetch].

import { createServer, type RequestListener } from 'node:http';

import { getRequestListener } from '@hono/node-server';

import { serveFloor } from './serve-floor.js';

interface AddSubInputs {
  readonly a: readonly number[];
  readonly b: readonly number[];
}

function addSub({ a, b }: AddSubInputs) {
  return { add: a.map((value, i) => value + b[i]!), sub: a.map((value, i) => value - b[i]!) };
}

const byHand: RequestListener = (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = JSON.stringify(addSub(JSON.parse(Buffer.concat(chunks).toString()) as AddSubInputs));
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
    response.end(body);
  });
};

const byFetch = getRequestListener(async (request) => Response.json(addSub((await request.json()) as AddSubInputs)));

serveFloor(createServer(process.argv[2] === 'fetch' ? byFetch : byHand));
