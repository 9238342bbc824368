// `tstriton serve --remote`: a process that serves its models through the server of another one.
import { writeFileSync } from 'node:fs';

import { beforeAll, describe, expect, it } from 'vitest';

import { REMOTE, REMOTE_TOKEN } from '../../support/remote.js';
import { inferJson, startServer } from '../../support/start-server.js';
import { temporaryFolder } from '../../support/temporary-files.js';
import { watchedProcess } from '../../support/watched-process.js';

const path = (relative: string) => new URL(relative, import.meta.url).pathname;
const MAIN = path('../../../dist/cli/main.js');
const MODEL = path('../../fixtures/twice.js');
const file = temporaryFolder();
const CONFIG = file('server.json');
beforeAll(() => writeFileSync(CONFIG, '{"logInfo": false}'));
const TOKEN = ['--remote-access-token', REMOTE_TOKEN];

function serve(...args: readonly string[]) {
  return watchedProcess([MAIN, 'serve', ...args]);
}

describe('tstriton serve --remote', () => {
  it('serves the models of a file until a signal comes', async () => {
    await using server = await startServer(() => undefined, REMOTE);
    const binder = serve(MODEL, '--remote', server.grpc, '--json', ...TOKEN);
    await binder.wrote(JSON.stringify({ remote: server.grpc, models: ['Twice'] }));
    expect(binder.output).toContain(`serving Twice through ${server.grpc}`);
    const { outputs } = await inferJson(server.http, 'Twice', [
      { name: 'x', datatype: 'INT32', shape: [1, 1], data: [21] },
    ]);
    expect(outputs[0]!.data).toEqual([42]);
    binder.kill('SIGINT');
    expect(await binder.ended).toBe(0);
    expect((await fetch(`${server.http}/v2/models/Twice`)).status).toBe(404);
  });

  it('ends with the reason why the server refuses it', async () => {
    await using server = await startServer(() => undefined, REMOTE);
    const binder = serve(MODEL, '--remote', server.grpc, '--remote-access-token', 'guess');
    expect(await binder.ended).toBe(1);
    expect(binder.output).toContain("the access token is not the server's remoteAccessToken");
  });

  it.each<[string, readonly string[], string]>([
    ['no token', [], "--remote needs the server's token"],
    ['an option of a server', [...TOKEN, '--http-port', '9000'], '--http-port is for a server'],
    [
      'such an option in a file',
      [...TOKEN, '--config', CONFIG],
      'logInfo of the configuration file is for a server; the server at localhost:8001 has options of its own: name another file by --config',
    ],
    ['--watch', [...TOKEN, '--watch'], '--watch is not for --remote'],
    ['no address for instances', ['--engine', 'tritonserver'], 'needs --instance-address'],
    [
      'an address for instances',
      [...TOKEN, '--instance-address', '/a'],
      '--instance-address needs --engine tritonserver',
    ],
  ])('is refused with %s', async (_, args, message) => {
    const binder = serve(MODEL, '--remote', 'localhost:8001', ...args);
    expect(await binder.ended).toBe(2);
    expect(binder.output).toContain(message);
  });
});
