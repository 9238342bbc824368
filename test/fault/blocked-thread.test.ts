// A callable that never comes to an end, in the thread that the server was started in: nothing in it runs any more, the handlers
// of signals included.
import { fileURLToPath } from 'node:url';

import { ServerClient } from 'tstriton/client';
import { describe, expect, it } from 'vitest';

import { inferJson } from '../support/start-server.js';
import { temporaryFolder } from '../support/temporary-files.js';
import { watchedProcess } from '../support/watched-process.js';

const SERVER = fileURLToPath(new URL('../fixtures/blocked-server.js', import.meta.url));
const ONE = [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }];

async function blockedServer(config: Readonly<Record<string, unknown>>, end: readonly string[] = []) {
  const server = watchedProcess([SERVER, JSON.stringify(config), ...end]);
  await server.wrote('serves at');
  const [, httpPort, grpcPort, metricsPort] = /serves at (\d+) (\d+) (\d+)/.exec(server.output)!;
  const http = `http://127.0.0.1:${httpPort}`;
  const grpc = `grpc://127.0.0.1:${grpcPort}`;
  const metrics = `http://127.0.0.1:${metricsPort}/metrics`;
  const asked = inferJson(http, 'Endless', ONE).then(
    ({ status, outputs }) => outputs?.[0]!.data[0] ?? status,
    () => 'cut off',
  );
  await server.wrote('blocked for ever');
  return { server, http, grpc, metrics, asked };
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

describe('the neighbours of a callable that blocks its thread, while the server has its own', () => {
  const isReady = async (http: string, path: string) => (await fetch(`${http}/v2/${path}/ready`)).status === 200;

  it('are not ready until the thread goes on, but for those in other threads', async () => {
    const file = temporaryFolder();
    const end = file('end');
    const { server, http, grpc, metrics, asked } = await blockedServer({}, [end]);
    await using client = new ServerClient(grpc);
    const accepted = inferJson(http, 'Neighbour', [{ ...ONE[0]!, data: [2] }], { id: 'accepted' });
    const waits = inferJson(http, 'Neighbour', [{ ...ONE[0]!, data: [3] }], { id: 'waits' });
    const readiness = async () => ({
      server: [await isReady(http, 'health'), await client.isReady()],
      neighbour: [await isReady(http, 'models/Neighbour'), await client.isModelReady('Neighbour')],
      endless: [await isReady(http, 'models/Endless'), await client.isModelReady('Endless')],
      apart: [await isReady(http, 'models/Apart'), await client.isModelReady('Apart')],
      instances: /tstriton_instances\{model="Neighbour".*\} (\d+)/.exec(await (await fetch(metrics)).text())![1],
    });
    const ready = { server: [true, true], neighbour: [true, true], endless: [true, true], apart: [true, true] };
    expect(await readiness()).toEqual({ ...ready, instances: '1' });

    await server.wrote('the thread that the server was started in is blocked: models that run in it are not ready');
    expect(await readiness()).toEqual({
      server: [false, false],
      neighbour: [false, false],
      endless: [false, false],
      apart: [true, true],
      instances: '0',
    });
    const refused = await fetch(`${http}/v2/models/Neighbour/infer`, {
      method: 'POST',
      body: JSON.stringify({ id: 'refused', inputs: [{ ...ONE[0]!, data: [4] }] }),
    });
    expect([refused.status, await refused.json()]).toEqual([
      503,
      { error: "model 'Neighbour' is not ready: the thread that it runs in is blocked" },
    ]);
    const apart = await inferJson(http, 'Apart', [{ ...ONE[0]!, data: [5] }], { id: 'apart' });
    expect([apart.status, apart.id, apart.outputs[0]!.data]).toEqual([200, 'apart', [5]]);

    file('end', '');
    await server.wrote('the thread that the server was started in goes on');
    expect(await asked).toBe(7);
    for (const [answer, id, value] of [
      [accepted, 'accepted', 2],
      [waits, 'waits', 3],
    ] as const) {
      const { outputs, ...rest } = await answer;
      expect(rest).toMatchObject({ status: 200, id });
      expect(outputs[0]!.data).toEqual([value]);
    }
    expect(await readiness()).toEqual({ ...ready, instances: '1' });
    server.kill('SIGTERM');
    expect(await server.ended).toBe(0);
  });
});
