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

it.each([0, -1, 1.5, '1'])('refuses %j for a version before it asks', async (version) => {
  const modelVersion = version as number;
  for (const url of ['http://127.0.0.1:1', 'grpc://127.0.0.1:1']) {
    await using client = new ServerClient(url);
    const calls = [
      () => client.isModelReady('m', { modelVersion }),
      () => client.waitForReady({ model: 'm', modelVersion }),
      () => client.modelConfig('m', { modelVersion }),
      () => client.statistics('m', { modelVersion }),
    ];
    for (const call of calls) {
      await expect(call()).rejects.toMatchObject({
        code: 'INVALID_ARG',
        message: expect.stringContaining('modelVersion must be an integer >= 1, got') as string,
      });
    }
  }
});

it('refuses a configuration that JSON cannot hold before it asks', async () => {
  await using client = new ServerClient('http://127.0.0.1:1');
  await expect(client.loadModel('m', { config: { parameters: { a: [1n] } } })).rejects.toMatchObject({
    code: 'INVALID_ARG',
    message: expect.stringContaining(
      'the config of a load cannot be written as JSON: Do not know how to serialize a BigInt',
    ),
  });
});
