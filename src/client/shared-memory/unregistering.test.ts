import { describe, expect, it } from 'vitest';

import { answerJson, startHttp } from '../../../test/support/fake-servers.js';
import { TritonTimeoutError } from '../client-errors.js';
import { ModelClient } from '../model-client.js';
import { SharedMemory } from './shared-memory.js';
import { Unregistering } from './unregistering.js';

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

it('asks a server again that did not answer in time', async () => {
  const answers = [Promise.reject(new TritonTimeoutError('deadline exceeded')), Promise.resolve()];
  const left = () => answers.shift()!;
  await new Unregistering(left).end('r');
  expect(answers).toHaveLength(0);
});

describe.runIf(process.platform === 'linux')('shared memory', () => {
  const inUse = { error: "Cannot unregister shared memory region 'r', it is currently in use." };

  it('counts a region to maxBytes until the server has let it go', async () => {
    const asked: string[] = [];
    const times = (what: string) => asked.filter((each) => each === what).length;
    const leaving = new AbortController();
    let isUsed = true;
    let told = () => {};
    const refusedAgain = new Promise<void>((resolve) => (told = resolve));
    await using server = await startHttp(({ path }, response) => {
      const what = path.split('/').at(-1)!;
      asked.push(what);
      if (what === 'infer' && isUsed) return leaving.abort();
      if (what === 'unregister' && isUsed) {
        answerJson(response, 500, inUse);
        if (times('unregister') === 3) told();
        return;
      }
      const outputs = [{ name: 'y', datatype: 'INT32', shape: [1] }];
      answerJson(response, 200, what === 'infer' ? { model_name: 'M', model_version: '1', outputs } : {});
    });
    await using memory = new SharedMemory(`http://${server.authority}`, { outputs: { y: 4 }, maxBytes: 65_536 });
    await using client = new ModelClient(memory, model);
    await expect(client.inferSample([1], { signal: leaving.signal })).rejects.toMatchObject({ code: 'CANCELLED' });
    const next = client.inferSample([1]);
    await refusedAgain;
    expect(times('register')).toBe(1);
    isUsed = false;
    await next;
    expect(times('register')).toBe(2);
  });

  it('unregisters a region whose registration ends after the close began', async () => {
    const asked: string[] = [];
    let register = () => {};
    let told = () => {};
    const registering = new Promise<void>((resolve) => (told = resolve));
    await using server = await startHttp(({ path }, response) => {
      asked.push(path.split('/').at(-1)!);
      if (!path.endsWith('/register')) return answerJson(response, 200, {});
      register = () => answerJson(response, 200, {});
      told();
    });
    const memory = new SharedMemory(`http://${server.authority}`, { outputs: { y: 4 } });
    const client = new ModelClient(memory, model);
    const refused = client.inferSample([1]).catch((error: unknown) => error);
    await registering;
    const closed = memory.close();
    register();
    await closed;
    expect(await refused).toMatchObject({ message: 'SharedMemory is closed' });
    expect(asked).toEqual(['register', 'unregister']);
    await client.close();
  });
});
