import { describe, expect, it } from 'vitest';

import { answerJson, startHttp } from '../../../test/support/fake-servers.js';
import { ModelClient } from '../model-client.js';
import { SharedMemory } from './shared-memory.js';

const model = {
  modelName: 'M',
  inputs: { x: { dtype: 'int32', shape: [1] } },
  outputs: { y: { dtype: 'int32', shape: [1] } },
} as const;

describe.runIf(process.platform === 'linux')('a region that the server refuses to let go', () => {
  // As tritonserver does while a request uses it, also one that was cancelled.
  const inUse = { error: "Cannot unregister shared memory region 'r', it is currently in use." };

  it('is taken back when its cancelled request has ended', async () => {
    const asked: string[] = [];
    const leaving = new AbortController();
    let told = () => {};
    const again = new Promise<void>((resolve) => (told = resolve));
    await using server = await startHttp(({ path }, response) => {
      asked.push(path.split('/').at(-1)!);
      if (path.endsWith('/infer')) return leaving.abort();
      const refusals = asked.filter((what) => what === 'unregister').length;
      if (path.endsWith('/unregister') && refusals <= 2) return answerJson(response, 500, inUse);
      answerJson(response, 200, {});
      if (path.endsWith('/unregister')) told();
    });
    await using memory = new SharedMemory(`http://${server.authority}`, { outputs: { y: 4 } });
    await using client = new ModelClient(memory, model);
    await expect(client.inferSample([1], { signal: leaving.signal })).rejects.toMatchObject({ code: 'CANCELLED' });
    await again;
    expect(asked).toEqual(['register', 'infer', 'unregister', 'unregister', 'unregister']);
  });

  it('is waited for by the close', async () => {
    let refusals = 0;
    const leaving = new AbortController();
    await using server = await startHttp(({ path }, response) => {
      if (path.endsWith('/infer')) return leaving.abort();
      if (path.endsWith('/unregister') && refusals++ < 2) return answerJson(response, 500, inUse);
      answerJson(response, 200, {});
    });
    const memory = new SharedMemory(`http://${server.authority}`, { outputs: { y: 4 } });
    const client = new ModelClient(memory, model);
    await expect(client.inferSample([1], { signal: leaving.signal })).rejects.toMatchObject({ code: 'CANCELLED' });
    await client.close();
    await memory.close();
    expect(refusals).toBe(3);
  });
});
