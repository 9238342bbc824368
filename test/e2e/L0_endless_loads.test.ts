// Loads that never end: a setup that waits for ever, or a warm-up that is never answered. What comes after them is not lost, and
// nobody has to start the server again.
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import type { Triton } from 'tstriton';

import { callJson } from '../support/grpc-service.js';
import { added, addingModule, index, modelRepository } from '../support/model-repository.js';
import { gate, inferJson, startServer } from '../support/start-server.js';

const ONE = [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }];
const UNLOADED = 'a later change of the model came before it was loaded';

type Where = 'setup' | 'warm-up';

/** A model that answers with a number. */
function answering(number: number) {
  return {
    modelName: 'm',
    inputs: { x: { dtype: 'float32', shape: [1] } },
    outputs: { y: { dtype: 'float32', shape: [1] } },
    inferFunc: (requests: readonly unknown[]) => Promise.resolve(requests.map(() => ({ y: [[number]] }))),
  } as const;
}

/** The same, whose load ends only where `isEndless` says no. `begun` opens when it has come so far. */
function endless(number: number, where: Where, isEndless = () => true) {
  const begun = gate();
  const hold = async () => {
    if (!isEndless()) return;
    begun.open();
    await new Promise<void>(() => undefined);
  };
  const model = answering(number);
  const held = {
    setup: { ...model, setup: hold },
    'warm-up': {
      ...model,
      config: { modelWarmup: [{ name: 'w', inputs: { x: { dtype: 'float32', shape: [1], zeroData: true } } }] },
      inferFunc: async (requests: readonly unknown[]) => {
        await hold();
        return model.inferFunc(requests);
      },
    },
  } as const;
  return { model: held[where], begun };
}

async function answerOf(http: string): Promise<unknown> {
  const { status, outputs } = await inferJson(http, 'm', ONE);
  return status === 200 ? outputs[0]!.data[0] : status;
}

function control(http: string, action: 'load' | 'unload') {
  return callJson(`${http}/v2/repository/models/m/${action}`, {});
}

const CASES = [true, false].flatMap((serverThread) =>
  (['setup', 'warm-up'] as const).map((where) => ({ serverThread, where })),
);

describe.each(CASES)('a load that never ends, in its $where, with serverThread: $serverThread', (tested) => {
  const { serverThread, where } = tested;

  it('makes room for the next bind that replaces it, and for the one after', async () => {
    await using server = await startServer((triton) => triton.bind(answering(1)), { serverThread });
    const { triton, http } = server;
    for (const number of [2, 3]) {
      const { model, begun } = endless(number, where);
      triton.bind(model, { replace: true });
      await begun.opened;
      expect(await answerOf(http)).toBe(1);
    }
    triton.bind(answering(4), { replace: true });
    await triton.ready('m');
    expect(await answerOf(http)).toBe(4);
    expect(triton.isReady).toBe(true);
  });

  it('of a model that is bound while the server serves makes room for what replaces it', async () => {
    await using server = await startServer(() => undefined, { serverThread });
    const { triton, http } = server;
    const { model, begun } = endless(1, where);
    triton.bind(model);
    const first = triton.ready('m');
    await begun.opened;
    triton.bind(answering(2), { replace: true });
    await expect(first).rejects.toMatchObject({ code: 'UNAVAILABLE', message: UNLOADED });
    await triton.ready('m');
    expect(await answerOf(http)).toBe(2);
  });

  it('is over when the model is unbound, whose name is free then', async () => {
    await using server = await startServer((triton) => triton.bind(answering(1)), { serverThread });
    const { triton, http } = server;
    const { model, begun } = endless(2, where);
    const replaced = triton.rebind(model);
    await begun.opened;
    const unbound = triton.unbind('m');
    await expect(replaced).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await unbound;
    const again = endless(3, where);
    triton.bind(again.model);
    await again.begun.opened;
    await triton.unbind('m');
    triton.bind(answering(4));
    await triton.ready('m');
    expect(await answerOf(http)).toBe(4);
  });

  it('is over when a client unloads the model, which can be loaded again', async () => {
    const repository = modelRepository({ 'm/1/model.mjs': addingModule(1) });
    const config = { serverThread, modelRepository: repository.path, restrictedEndpoints: [] };
    await using server = await startServer(() => undefined, {
      ...config,
      modelControlMode: 'explicit',
      loadModel: ['m'],
    });
    const { http } = server;
    repository.write('m/1/model.mjs', endlessModule(where, repository.path));
    const loading = control(http, 'load');
    await expect.poll(() => existsSync(join(repository.path, '.begun'))).toBe(true);
    expect(await added(http, 'm')).toBe(1);
    expect(await control(http, 'unload')).toEqual([200, '']);
    expect(await loading).toEqual([400, { error: expect.stringContaining(UNLOADED) as unknown }]);
    await expect.poll(() => index(http)).toEqual(['m:1 UNAVAILABLE unloaded']);
    repository.write('m/1/model.mjs', addingModule(3));
    expect(await control(http, 'load')).toEqual([200, '']);
    expect(await added(http, 'm')).toBe(3);
  });

  it('is over when a poll finds its folder gone', async () => {
    const repository = modelRepository({ 'm/1/model.mjs': addingModule(1) });
    const config = { serverThread, modelRepository: repository.path, restrictedEndpoints: [] };
    await using server = await startServer(() => undefined, {
      ...config,
      modelControlMode: 'poll',
      repositoryPollSecs: 1,
    });
    const { http } = server;
    repository.write('m/1/model.mjs', endlessModule(where, repository.path));
    await expect.poll(() => existsSync(join(repository.path, '.begun'))).toBe(true);
    repository.remove('m');
    await expect.poll(() => index(http)).toEqual([]);
    repository.write('m/1/model.mjs', addingModule(3));
    await expect.poll(() => added(http, 'm')).toBe(3);
  });
});

describe.each([true, false])('a bound model whose load never ended, with serverThread: %s', (serverThread) => {
  it('is loaded again when a client has unloaded it', async () => {
    let isEndless = true;
    const { model, begun } = endless(1, 'warm-up', () => isEndless);
    await using server = await startServer((triton) => triton.bind(model), {
      serverThread,
      modelControlMode: 'explicit',
      restrictedEndpoints: [],
    });
    const { http } = server;
    const loading = control(http, 'load');
    await begun.opened;
    expect(await control(http, 'unload')).toEqual([200, '']);
    expect(await loading).toEqual([400, { error: expect.stringContaining(UNLOADED) as unknown }]);
    expect([await index(http), (await callJson(`${http}/v2/health/ready`))[0]]).toEqual([
      ['m:1 UNAVAILABLE unloaded'],
      200,
    ]);
    isEndless = false;
    expect(await control(http, 'load')).toEqual([200, '']);
    expect(await answerOf(http)).toBe(1);
  });
});

describe.each([
  { serverThread: true, where: 'setup' },
  { serverThread: false, where: 'warm-up' },
] as const)('a load that never ends, in its $where, with serverThread: $serverThread', ({ serverThread, where }) => {
  it('gives way to a rebind, whether the program or a client has asked for it', async () => {
    let isEndless = false;
    const asked = endless(1, where, () => isEndless);
    await using server = await startServer((triton) => triton.bind({ ...asked.model, modelName: 'asked' }), {
      serverThread,
      modelControlMode: 'explicit',
      loadModel: ['*'],
      restrictedEndpoints: [],
    });
    const { triton, http } = server;
    const bound = endless(2, where);
    triton.bind(bound.model);
    const first = triton.ready('m');
    isEndless = true;
    await callJson(`${http}/v2/repository/models/asked/unload`, {});
    const loading = callJson(`${http}/v2/repository/models/asked/load`, {});
    await Promise.all([bound.begun.opened, asked.begun.opened]);
    const rebound = ['m', 'asked'].map((modelName) => triton.rebind({ ...answering(3), modelName }));
    await expect(first).rejects.toMatchObject({ code: 'UNAVAILABLE', message: UNLOADED });
    expect(await loading).toEqual([400, { error: expect.stringContaining(UNLOADED) as unknown }]);
    await Promise.all(rebound);
    const answers = ['m', 'asked'].map(async (name) => (await inferJson(http, name, ONE)).outputs[0]!.data[0]);
    expect(await Promise.all(answers)).toEqual([3, 3]);
  });

  it('gives way when a poll finds its folder repaired, also at the start', async () => {
    const repository = modelRepository();
    const begun = join(repository.path, '.begun');
    const hang = async () => {
      repository.write('m/1/model.mjs', endlessModule(where, repository.path));
      await expect.poll(() => existsSync(begun)).toBe(true);
    };
    const hangs = hang();
    const starting = startServer(() => undefined, {
      serverThread,
      modelRepository: repository.path,
      modelControlMode: 'poll',
      repositoryPollSecs: 1,
    });
    await hangs;
    repository.write('m/1/model.mjs', addingModule(3));
    await using server = await starting;
    expect(await added(server.http, 'm')).toBe(3);
    rmSync(begun);
    await hang();
    repository.write('m/1/model.mjs', addingModule(4));
    await expect.poll(() => added(server.http, 'm')).toBe(4);
  });

  it('gives way when a client loads the model whose folder is repaired', async () => {
    const repository = modelRepository();
    repository.write('m/1/model.mjs', endlessModule(where, repository.path));
    await using server = await startServer(() => undefined, {
      serverThread,
      modelRepository: repository.path,
      modelControlMode: 'explicit',
      restrictedEndpoints: [],
    });
    const { http } = server;
    const loading = control(http, 'load');
    await expect.poll(() => existsSync(join(repository.path, '.begun'))).toBe(true);
    repository.write('m/1/model.mjs', addingModule(3));
    expect(await control(http, 'load')).toEqual([200, '']);
    expect(await loading).toEqual([400, { error: expect.stringContaining(UNLOADED) as unknown }]);
    expect(await added(http, 'm')).toBe(3);
  });

  it.each<[string, number, (triton: Triton) => unknown]>([
    ['a bind that replaces it', 2, (triton) => triton.bind(answering(2), { replace: true })],
    ['a rebind', 2, (triton) => triton.rebind(answering(2))],
    ['an unbind', 404, (triton) => triton.unbind('m')],
  ])('at the start gives way to %s', async (_, answer, change) => {
    const { model, begun } = endless(1, where);
    let changed: unknown;
    const bind = (triton: Triton) => {
      triton.bind(model);
      void begun.opened.then(() => (changed = change(triton)));
    };
    await using server = await startServer(bind, { serverThread });
    await changed;
    expect(await answerOf(server.http)).toBe(answer);
  });
});

/** Writes a file `.begun` when its load has come so far. */
function endlessModule(where: Where, folder: string): string {
  const hold = `writeFileSync(${JSON.stringify(join(folder, '.begun'))}, ''); await new Promise(() => undefined);`;
  const begin = `import { writeFileSync } from 'node:fs';\n`;
  if (where === 'setup') return `${begin}export async function setup() { ${hold} }\n${addingModule(2)}`;
  return `${begin}export default {
  inputs: { x: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
  config: { modelWarmup: [{ name: 'w', inputs: { x: { dtype: 'float32', shape: [1], zeroData: true } } }] },
  async inferFunc() { ${hold} },
};
`;
}
