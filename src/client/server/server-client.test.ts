import { expect, it } from 'vitest';

import { answerJson, startHttp } from '../../../test/support/fake-servers.js';
import { ServerClient } from './server-client.js';

it.each([
  [{ live: true, ready: true }, true],
  [{ name: 'm' }, true],
  [null, true],
  [{ live: false, ready: false }, false],
])(
  'the answer %j with status 200 is taken at its word, as servers of KServe may give it: %s',
  async (body, expected) => {
    await using server = await startHttp((_, response) => answerJson(response, 200, body));
    await using client = new ServerClient(server.authority);
    expect([await client.isLive(), await client.isReady(), await client.isModelReady('m')]).toEqual([
      expected,
      expected,
      expected,
    ]);
  },
);
