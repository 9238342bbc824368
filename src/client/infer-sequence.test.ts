import { once } from 'node:events';
import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';

import { defineModel } from '../model/callable.js';
import { ModelClient } from './model-client.js';

const total = defineModel({
  modelName: 'Total',
  inputs: { x: { dtype: 'int32', shape: [1] } },
  outputs: { total: { dtype: 'int32', shape: [1] } },
});

/** A gRPC server that refuses each stream at its beginning, and asks its client to come again later. */
async function startRefusing(afterMs: string) {
  let requests = 0;
  const server = createServer();
  server.on('stream', (stream) => {
    requests++;
    stream.on('error', () => {});
    const status = { 'grpc-status': '14', 'grpc-message': 'Server not ready', 'grpc-retry-pushback-ms': afterMs };
    stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...status }, { endStream: true });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    requests: () => requests,
    url: `grpc://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

it.each(['3600000', '9999999999'])(
  'a request of a sequence is not sent again when the server wants to wait for longer than its time limit: %s ms',
  async (afterMs) => {
    await using server = await startRefusing(afterMs);
    await using client = new ModelClient(server.url, total);
    const sequence = client.sequence({ timeoutMs: 30_000 });
    await expect(sequence.infer({ x: [1] })).rejects.toMatchObject({ message: 'Server not ready' });
    expect(server.requests()).toBe(1);
  },
);
