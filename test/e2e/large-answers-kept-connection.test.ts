// Large requests one after the other on one connection, each with an answer so large that no second one may be under way.
import { request, Agent } from 'node:http';

import { describe, expect, it } from 'vitest';

import { startServer } from '../support/start-server.js';

const FLOATS = 5 * 1024 * 1024;
const HEADER = JSON.stringify({
  inputs: [{ name: 'x', datatype: 'FP32', shape: [1, FLOATS], parameters: { binary_data_size: FLOATS * 4 } }],
  parameters: { binary_data_output: true },
});

describe.each([{ serverThread: true }, { serverThread: false }])('large answers with %o', ({ serverThread }) => {
  it('do not keep the next request of their connection from being read', async () => {
    const tensor = { dtype: 'float32', shape: [-1] } as const;
    await using server = await startServer(
      (triton) =>
        triton.bind({
          modelName: 'I',
          inputs: { x: tensor },
          outputs: { y: tensor },
          inferFunc: (requests) => requests,
        }),
      { serverThread },
    );
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const body = Buffer.concat([Buffer.from(HEADER), Buffer.alloc(FLOATS * 4)]);
    const headers = { 'content-length': body.length, 'inference-header-content-length': HEADER.length };
    const ask = () =>
      new Promise<boolean>((resolve, reject) => {
        const asked = request(`${server.http}/v2/models/I/infer`, { agent, method: 'POST', headers }, (answer) => {
          let bytes = 0;
          answer.on('data', (piece: Buffer) => (bytes += piece.length));
          answer.on('end', () => resolve(answer.statusCode === 200 && bytes > FLOATS * 4));
        });
        asked.on('error', reject).end(body);
      });
    try {
      expect([await ask(), await ask(), await ask()]).toEqual([true, true, true]);
    } finally {
      agent.destroy();
    }
  });
});
