// More connections than there may be: those who ask how the server is are answered at once, others as soon as a connection that
// nobody uses has lost its place, and connections in use keep theirs.
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';

import { describe, expect, it } from 'vitest';

import { bindEchoes, startServer } from '../support/start-server.js';

const MOST = 4;
const BODY = JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }] });

/** The status; 0 when the connection is closed without an answer. A connection of its own, unless there is an agent. */
function ask(url: string, method: string, path: string, agent: Agent | false = false): Promise<number> {
  return new Promise((resolve) => {
    const asked = request(`${url}${path}`, { method, agent }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode!));
    });
    asked.on('error', () => resolve(0));
    asked.end(method === 'POST' ? BODY : undefined);
  });
}

const infer = (url: string, agent?: Agent) => ask(url, 'POST', '/v2/models/float32/infer', agent);

describe.each([{ serverThread: true }, { serverThread: false }])(
  'too many connections, with %o',
  ({ serverThread }) => {
    it('cost those that say nothing their place, not those in use, and no health check its answer', async () => {
      await using server = await startServer((triton) => bindEchoes(triton, ['float32']), {
        serverThread,
        maxConnections: MOST,
      });
      const kept = new Agent({ keepAlive: true, maxSockets: 1 });
      const silent: Socket[] = [];
      try {
        expect(await infer(server.http, kept)).toBe(200);
        let closed = 0;
        for (let i = 1; i < MOST; i++) {
          const socket = connect(Number(new URL(server.grpc).port), '127.0.0.1').resume();
          socket.on('close', () => closed++);
          silent.push(socket);
          await once(socket, 'connect');
        }
        // There is no place yet, or there is by now.
        expect(await ask(server.http, 'GET', '/v2/health/ready')).toBe(200);
        expect([200, 503]).toContain(await infer(server.http));
        expect(await ask(server.metrics, 'GET', '')).toBe(200);
        await expect.poll(() => infer(server.http), { timeout: 20_000, interval: 100 }).toBe(200);
        await expect.poll(() => closed).toBeGreaterThan(0);
        expect(await infer(server.http, kept)).toBe(200);
      } finally {
        kept.destroy();
        for (const socket of silent) socket.destroy();
      }
    });
  },
);
