// The example of a model in another process: server, model and client, each a process as its README starts them.
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

import { askPower } from '../../examples/remote/client.js';
import { remotePower } from '../../examples/remote/model.js';
import { remoteServer } from '../../examples/remote/server.js';
import { FREE_PORTS } from '../support/start-server.js';
import { watchedProcess } from '../support/watched-process.js';

describe('the example of a model in another process', () => {
  it('answers through the server that it is linked to', async () => {
    await using server = remoteServer('secret', FREE_PORTS);
    await server.run();
    await using model = remotePower(`grpc://127.0.0.1:${server.grpcPort}`, 'secret');
    await model.connect();
    const answer = await askPower(`http://127.0.0.1:${server.httpPort}`, 2, 10);
    expect(answer).toBe(`2 ^ 10 = 1024, says process ${process.pid}`);
  });

  it('says which variable it needs', async () => {
    const file = fileURLToPath(new URL('../../examples/remote/model.ts', import.meta.url));
    const model = watchedProcess(['--import', 'tsx', file]);
    expect(await model.ended).toBe(1);
    expect(model.output).toContain('REMOTE_TOKEN is not set');
  });
});
