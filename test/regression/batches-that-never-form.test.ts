// The failure story (triton server #3624, #4247, #3327, #6498; BentoML #4670): dynamic batching is on, clients are many,
// and yet every batch has one request, because nothing waits as long as the delay is 0, or the server sent each request
// off before the next came. Here what comes while the model works is its next batch, without any setting, and the log
// tells why each batch was released.
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { HeldModel, HeldModelClients } from '../support/held-model.js';
import { startServer } from '../support/start-server.js';

describe('a model with default settings under concurrent clients', () => {
  it('works in batches, and the log says why each was released', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tstriton-'));
    const logFile = join(folder, 'log');
    const model = new HeldModel({ maxBatchSize: 8 });
    {
      await using server = await startServer((triton) => model.bind(triton), { logVerbose: 1, logFile });
      await using clients = new HeldModelClients(server, model);
      const first = clients.ask('a');
      await model.began(1);
      const waiting = await clients.queue('bcdefghijk');
      model.end();
      await model.began(2);
      model.open();
      await Promise.all([first, ...waiting]);
    }
    expect(model.batches).toEqual(['a', 'b c d e f g h i', 'j k']);
    const released = readFileSync(logFile, 'utf8').match(/batch of .*/g);
    await rm(folder, { recursive: true });
    expect(released).toEqual([
      expect.stringMatching(/^batch of 1 request, 1 row, to instance 0: the instance is free;/),
      expect.stringMatching(
        /^batch of 8 requests, 8 rows, to instance 0: no more rows fit; the oldest waited .* 2 still wait$/,
      ),
      expect.stringMatching(/^batch of 2 requests, 2 rows, to instance 0: the instance is free;/),
    ]);
  });
});
