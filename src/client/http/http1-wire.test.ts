import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';

import { startHttp } from '../../../test/support/fake-servers.js';
import { ModelClient } from '../model-client.js';
import { hostHeader } from './http1-wire.js';

it.each([
  [{ host: 'example.org', port: 8000, tls: false }, 'example.org:8000'],
  [{ host: 'example.org', port: 80, tls: false }, 'example.org'],
  [{ host: 'example.org', port: 443, tls: true }, 'example.org'],
  [{ host: 'example.org', port: 443, tls: false }, 'example.org:443'],
  [{ host: '::1', port: 8000, tls: false }, '[::1]:8000'],
])('names the host of %o as %s', (server, header) => {
  expect(hostHeader(server)).toBe(header);
});

it('sends each header once, with those of the user', async () => {
  let received: readonly string[] = [];
  const server = createServer((request, response) => {
    received = request.rawHeaders;
    request.resume().on('end', () => response.end('{"outputs":[]}'));
  });
  const port = await new Promise<number>((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)),
  );
  const tensor = { dtype: 'float32', shape: [1] } as const;
  const model = { modelName: 'M', inputs: { x: tensor }, outputs: {} };
  await using client = new ModelClient(`http://127.0.0.1:${port}`, model, { headers: { 'X-Mine': 'yes' } });
  await client.inferSample({ x: [1] });
  const headers = Object.fromEntries(received.flatMap((name, i) => (i % 2 === 0 ? [[name, received[i + 1]]] : [])));
  expect(headers).toEqual({
    Host: `127.0.0.1:${port}`,
    'x-mine': 'yes',
    'content-type': 'application/octet-stream',
    'inference-header-content-length': expect.stringMatching(/^\d+$/) as string,
    'Content-Length': expect.stringMatching(/^\d+$/) as string,
    Connection: 'keep-alive',
  });
  expect(received).toHaveLength(2 * Object.keys(headers).length);
  await client.close();
  server.close();
});

it('writes a prefix that is no ASCII as browsers do', async () => {
  const paths: string[] = [];
  await using server = await startHttp(({ path }, response) => {
    paths.push(path);
    response.end('{"outputs":[]}');
  });
  const tensor = { dtype: 'float32', shape: [1] } as const;
  const model = { modelName: 'M', inputs: { x: tensor }, outputs: {} };
  await using client = new ModelClient(`http://${server.authority}/Süd/a%20b/\u{1f600}`, model);
  await client.inferSample({ x: [1] });
  expect(paths).toEqual(['/S%C3%BCd/a%20b/%F0%9F%98%80/v2/models/M/infer']);
  expect(() => new ModelClient(`http://${server.authority}/\ud800`, model)).toThrow(
    'expected a path of whole characters',
  );
});
