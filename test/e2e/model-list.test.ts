// GET /v2/models: what is served, for those who may not control it.
import { describe, expect, it } from 'vitest';

import { type Triton } from 'tstriton';

import { startServer } from '../support/start-server.js';

const TENSOR = { dtype: 'float32', shape: [-1] } as const;

function bind(triton: Triton): void {
  for (const [modelName, modelVersion] of [['b', 1], ['a', 3], ['a', 2]] as const) {
    triton.bind({
      modelName,
      modelVersion,
      ...(modelVersion === 3 && { config: { versionPolicy: { specific: { versions: [2] } } } }),
      inputs: { x: TENSOR },
      outputs: { y: TENSOR },
      inferFunc: (requests) => requests,
    });
  }
} // prettier-ignore

const LINES = [
  { name: 'a', version: '2', state: 'READY' },
  { name: 'b', version: '1', state: 'READY' },
];

describe.each([{ serverThread: true }, { serverThread: false }])('the list of models with %o', (mode) => {
  it('has names, versions and states, and needs no token', async () => {
    await using server = await startServer(bind, mode);
    const answer = await fetch(`${server.http}/v2/models`);
    expect(await answer.json()).toEqual({ models: ['a', 'b'], versions: LINES });
    const post = await fetch(`${server.http}/v2/models`, { method: 'POST' });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET']);
    await server.triton.unbind('a');
    expect(await (await fetch(`${server.http}/v2/models`)).json()).toEqual({ models: ['b'], versions: [LINES[1]] });
  });

  it('is metadata to those who restrict it', async () => {
    await using server = await startServer(bind, { ...mode, httpRestrictedApi: ['metadata:k=v'] });
    const url = `${server.http}/v2/models`;
    expect((await fetch(url)).status).toBe(403);
    expect((await fetch(url, { headers: { k: 'v' } })).status).toBe(200);
  });
});
