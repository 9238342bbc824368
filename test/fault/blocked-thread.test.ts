// A callable that never comes to an end, in the thread that the server was started in: nothing in it runs any more, the handlers
// of signals included.
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { inferJson } from '../support/start-server.js';
import { watchedProcess } from '../support/watched-process.js';

const SERVER = fileURLToPath(new URL('../fixtures/blocked-server.js', import.meta.url));
const ONE = [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }];

async function blockedServer(config: Readonly<Record<string, unknown>>) {
  const server = watchedProcess([SERVER, JSON.stringify(config)]);
  await server.wrote('serves at');
  const http = `http://127.0.0.1:${/serves at (\d+)/.exec(server.output)![1]}`;
  const asked = inferJson(http, 'Endless', ONE).then(
    ({ status }) => status,
    () => 'cut off',
  );
  await server.wrote('blocked for ever');
  return { server, http, asked };
}

describe.each([true, false])('a thread that is blocked for ever, with serverThread: %s', (serverThread) => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'is ended by SIGKILL once exitTimeoutSecs have passed after %s',
    async (signal) => {
      const { server, asked } = await blockedServer({ serverThread, exitTimeoutSecs: 1 });
      server.kill(signal);
      expect(await server.ended).toBe('SIGKILL');
      expect(server.output).toContain('the thread that it was started in is blocked: SIGKILL ends the process');
      // The server's own thread has answered all that was under way.
      expect(await asked).toBe(serverThread ? 503 : 'cut off');
    },
  );

  it('is ended by a second signal, whatever exitTimeoutSecs is', async () => {
    const { server } = await blockedServer({ serverThread, exitTimeoutSecs: 1_000_000 });
    server.kill('SIGTERM');
    server.kill('SIGINT');
    expect(await server.ended).toBe('SIGKILL');
  });
});
