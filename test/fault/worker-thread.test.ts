// A server in a worker thread of a program, where Node delivers no signals: a handler there never runs, and a watcher of
// signals would keep the system from ending the process.
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { watchedProcess } from '../support/watched-process.js';

const SERVER = fileURLToPath(new URL('../fixtures/worker-server.js', import.meta.url));

describe.each([true, false])('serve() in a worker thread, with serverThread: %s', (serverThread) => {
  it('leaves SIGTERM to the system, which ends the process', async () => {
    const server = watchedProcess([SERVER, JSON.stringify({ serverThread })]);
    await server.wrote('serves at');
    server.kill('SIGTERM');
    expect(await server.ended).toBe('SIGTERM');
  });

  it('ends when the program handles SIGTERM and has the thread stop it', async () => {
    const server = watchedProcess([SERVER, JSON.stringify({ serverThread }), 'handles']);
    await server.wrote('serves at');
    server.kill('SIGTERM');
    expect(await server.ended).toBe(0);
    expect(server.output).toContain('served');
  });
});
