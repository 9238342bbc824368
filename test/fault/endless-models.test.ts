// Asynchronous code of a model, in the thread that the server was started in, that never comes to an end: a stop does.
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { inferJson } from '../support/start-server.js';
import { watchedProcess } from '../support/watched-process.js';

const SERVER = fileURLToPath(new URL('../fixtures/endless-server.js', import.meta.url));

async function endlessServer(endless: 'infer' | 'teardown', serverThread: boolean) {
  const server = watchedProcess([SERVER, endless, JSON.stringify({ serverThread, exitTimeoutSecs: 1 })]);
  await server.wrote('serves at');
  return { server, http: `http://127.0.0.1:${/serves at (\d+)/.exec(server.output)![1]}` };
}

describe.each([true, false])('a model that does not come to an end, with serverThread: %s', (serverThread) => {
  it('does not keep the process alive by its teardown', async () => {
    const { server } = await endlessServer('teardown', serverThread);
    server.kill('SIGTERM');
    await server.wrote('teardown has begun');
    expect(await server.ended).toBe(0);
    expect(server.output).toContain(
      "teardown of 'Endless' version 1 has not ended after 5 s: nothing waits for it any more",
    );
    expect(server.output).toContain('serve() has ended');
  });

  it('does not keep the process alive by a request', async () => {
    const { server, http } = await endlessServer('infer', serverThread);
    const asked = inferJson(http, 'Endless', [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }]);
    await server.wrote('infer has begun');
    server.kill('SIGTERM');
    expect((await asked).status).toBe(503);
    expect(await server.ended).toBe(0);
    expect(server.output).toContain('serve() has ended');
  });
});
