import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';

import { expect, it } from 'vitest';

import { ServerClient } from '../client/server/server-client.js';
import { listModels } from './list-models.js';

/** What a server lists that answers so to each path. */
async function listedBy(answers: Readonly<Record<string, readonly [status: number, body: unknown]>>): Promise<unknown> {
  const answer: RequestListener = (request, response) => {
    const path = `${request.method} ${request.url}`;
    const [status, body] = answers[path] ?? [404, { error: 'Not Found' }];
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  };
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await using client = new ServerClient(url);
  try {
    return await listModels(client, url, {}).catch((error: Error) => error.message);
  } finally {
    server.close();
  }
}

const INDEX = 'POST /v2/repository/index';
const MODELS = 'GET /v2/models';
const REFUSED = [403, { error: 'restricted' }] as const;

it('takes the names of the index, each once', async () => {
  const index = [{ name: 'b', version: '1' }, { name: 'a', version: '2' }, { name: 'a', version: '1' }]; // prettier-ignore
  expect(await listedBy({ [INDEX]: [200, index], [MODELS]: [200, { models: ['c'] }] })).toEqual(['a', 'b']);
});

it('takes the ready models of the list where the index is refused', async () => {
  const line = (name: string, state: string) => ({ name, version: '1', state });
  const versions = [line('a', 'READY'), line('b', 'UNAVAILABLE')];
  expect(await listedBy({ [INDEX]: REFUSED, [MODELS]: [200, { models: ['a', 'b'], versions }] })).toEqual(['a']);
});

it("reads KServe's list, which has names alone", async () => {
  expect(await listedBy({ [MODELS]: [200, { models: ['n', 'm'] }] })).toEqual(['m', 'n']);
});

it('rejects with what the index says where both are refused', async () => {
  expect(await listedBy({ [INDEX]: REFUSED, [MODELS]: [403, { error: 'restricted too' }] })).toBe('restricted');
});
