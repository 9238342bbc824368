// 10 000 calls at once over one client, in batches that the server makes of them: each answer belongs to its question.
import { describe, expect, it } from 'vitest';

import { batch, defineModel } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { startServer } from '../support/start-server.js';

const CALLS = 10_000;

const describeText = defineModel({
  modelName: 'Describe',
  inputs: { x: { dtype: 'float64', shape: [-1] }, text: { dtype: 'string', shape: [1] } },
  outputs: { y: { dtype: 'float64', shape: [-1] }, text: { dtype: 'string', shape: [1] } },
  config: { maxBatchSize: 64 },
  strict: true,
});

describe.each([true, false])('with serverThread: %s', (serverThread) => {
  it.each(['http', 'grpc'] as const)('answers 10 000 calls at once over %s, each with its own', async (protocol) => {
    await using server = await startServer(
      (triton) =>
        triton.bind({
          ...describeText,
          inferFunc: batch(({ x, text }) => ({ y: x.map((value) => 2 * value), text })),
        }),
      { serverThread },
    );
    const before = process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
    await using client = new ModelClient(server[protocol], describeText);
    let connections = 0;
    const answers = await Promise.all(
      Array.from({ length: CALLS }, async (_, call) => {
        // One shape, so that they share batches, and texts from a few bytes to more than a connection copies.
        const asked = `call ${call} ${'.'.repeat(call % 1000 === 999 ? 20_000 : call % 300)}`;
        const options = { requestId: asked.slice(0, 100) };
        const { y, text } = await client.inferSample({ x: Float64Array.of(call, -call), text: [asked] }, options);
        if (call % 100 === 0)
          connections = Math.max(
            connections,
            process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length - before,
          );
        return y.data.length === 2 && y.data[0] === 2 * call && y.data[1] === -2 * call && text.data[0] === asked;
      }),
    );
    expect(answers.filter(Boolean)).toHaveLength(CALLS);
    // Both ends are here when the server has no thread of its own.
    const ends = serverThread ? 1 : 2;
    expect(connections).toBeLessThanOrEqual(ends * (protocol === 'http' ? 512 : 1));
  });
});
