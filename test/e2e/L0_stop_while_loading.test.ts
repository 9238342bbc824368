// A server that is told to end while a model loads: the load ends, what was set up already is torn down, and the process ends
// with exit code 0. No load here ever comes to an end by itself.
import { setImmediate as turn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { describe, expect, it, vi } from 'vitest';

import { instanceGroup, Triton } from 'tstriton';

import { INTERRUPTION_GRACE } from '../../src/lifecycle/interrupted-load.js';
import { TEARDOWN_GRACE } from '../../src/model/run-setup.js';
import { MAY_END, SET_UP, TEARING_DOWN, TORN_DOWN } from '../fixtures/late-instance.js';
import { modelRepository } from '../support/model-repository.js';
import { standStill } from '../support/standstill.js';
import { FREE_PORTS, gate } from '../support/start-server.js';
import { type WatchedProcess, watchedProcess } from '../support/watched-process.js';

const SERVER = fileURLToPath(new URL('../fixtures/loading-server.js', import.meta.url));
const MODELS = fileURLToPath(new URL('../fixtures/loading-models.js', import.meta.url));
const LATE = new URL('../fixtures/late-instance.js', import.meta.url);
const COMMAND = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const FREE = ['--http-port=0', '--grpc-port=0', '--metrics-port=0'];
const SPEC = {
  inputs: { x: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
  inferFunc: (requests: readonly object[]) => requests as never,
} as const;

/** Ends a server whose load has begun. Gives what it wrote. */
async function endedWhileLoading(server: WatchedProcess, signal: NodeJS.Signals, loading: string): Promise<string> {
  await server.wrote(loading);
  server.kill(signal);
  expect(await server.ended).toBe(0);
  const { output } = server;
  expect(output).not.toContain('run()');
  expect(output).not.toContain('failed');
  return output;
}

/** How often a text occurs. */
function count(text: string, part: string): number {
  return text.split(part).length - 1;
}

describe.each([true, false])('a signal while a model loads, with serverThread: %s', (serverThread) => {
  const config = JSON.stringify({ serverThread });

  it.each([
    ['SIGTERM', 'heeds'],
    ['SIGINT', 'heeds'],
    ['SIGTERM', 'goes-on'],
    ['SIGTERM', 'thread'],
    ['SIGTERM', 'thread-heeds'],
    ['SIGTERM', 'thread-endless'],
  ] as const)('%s ends serve() where setup is one that %s', async (signal, how) => {
    const server = watchedProcess([SERVER, how, config]);
    await server.wrote('Quick is set up');
    const output = await endedWhileLoading(server, signal, 'Slow is being set up');
    expect(count(output, "Stopping while models load: 'Slow' version 1\n")).toBe(1);
    expect(output).toContain('Quick is torn down');
    expect(output).toContain('serve() has ended');
    expect(output).not.toContain('Slow is torn down');
    // A thread whose setup has not begun yet does not begin it.
    expect(output.includes('heeded: the server was stopped before the model was loaded')).toBe(how.endsWith('heeds'));
    expect(count(output, "setup of 'Slow' version 1 does not heed its signal")).toBe(how === 'goes-on' ? 1 : 0);
  });

  it('ends the command where a model of a repository is imported', async () => {
    const repository = modelRepository({
      'Slow/config.pbtxt': 'backend: "tstriton"\ndefault_model_filename: "model.mjs"\n',
      'Slow/1/model.mjs': `import { endless } from ${JSON.stringify(MODELS)};\nawait endless();\n`,
    });
    const thread = `--server-thread=${serverThread}`;
    const command = watchedProcess([COMMAND, 'serve', `--model-repository=${repository.path}`, thread, ...FREE]);
    const output = await endedWhileLoading(command, 'SIGTERM', 'Slow is being set up');
    expect(count(output, "Stopping while models load: 'Slow'\n")).toBe(1);
  });

  it('rejects run(), ends stop(), tears down what was set up, and lets the next run set up again', async () => {
    const events: string[] = [];
    const begun = gate();
    const released = gate();
    const triton = new Triton({ ...FREE_PORTS, serverThread });
    triton.bind({
      ...SPEC,
      modelName: 'Quick',
      setup: () => void events.push('quick setup'),
      teardown: () => void events.push('quick teardown'),
    });
    triton.bind({
      ...SPEC,
      modelName: 'Slow',
      setup: async () => {
        events.push('setup');
        begun.open();
        await released.opened;
        events.push('set up');
      },
      teardown: () => void events.push('teardown'),
    });
    const running = triton.run();
    await begun.opened;
    const ready = triton.ready('Slow');
    await triton.stop();
    for (const ended of [running, ready]) {
      await expect(ended).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        message: 'the server was stopped while it started',
      });
    }
    expect(events.splice(0)).toEqual(['quick setup', 'setup', 'quick teardown']);

    // The setup that went on is torn down before the next one begins.
    const again = triton.run();
    released.open();
    await again;
    expect(events.filter((event) => !event.startsWith('quick'))).toEqual(['set up', 'teardown', 'setup', 'set up']);
    await triton.stop();
    expect(events.at(-1)).toMatch('teardown');
  });

  it('ends the load of a model that is bound, or replaced, while the server serves', async () => {
    const begun = [gate(), gate()];
    const triton = new Triton({ ...FREE_PORTS, serverThread });
    const events: string[] = [];
    triton.bind({ ...SPEC, modelName: 'Here', teardown: () => void events.push('teardown') });
    await triton.run();
    const endless = (index: number) => async () => {
      begun[index]!.open();
      await new Promise<void>(() => undefined);
    };
    triton.bind({ ...SPEC, modelName: 'Later', setup: endless(0) });
    const later = triton.ready('Later');
    const replaced = triton.rebind({ ...SPEC, modelName: 'Here', setup: endless(1) });
    await Promise.all(begun.map(({ opened }) => opened));
    await Promise.all([
      ...[later, replaced].map((ended) =>
        expect(ended).rejects.toMatchObject({ message: 'the server was stopped before the model was loaded' }),
      ),
      triton.stop(),
    ]);
    expect(events).toEqual(['teardown']);
  });

  it.each([
    ['a thread that is set up after all', INTERRUPTION_GRACE, 0],
    ['a thread whose supervisor stands still meanwhile', TEARDOWN_GRACE, 60_000],
  ])('gives %s the time for its teardown', async (_, passed, stoodStill) => {
    const words = new Int32Array(new SharedArrayBuffer(16));
    const noted = async (what: number) => {
      await expect.poll(() => Atomics.load(words, what)).toBe(1);
    };
    const turns = async () => {
      for (let i = 0; i < 10; i++) await turn();
    };
    const triton = new Triton({ ...FREE_PORTS, serverThread });
    await triton.run();
    triton.bind({ ...SPEC, modelName: 'Late', inferFunc: instanceGroup(LATE, { args: [words.buffer] }) });
    const ready = triton.ready('Late').catch(() => undefined);
    await noted(SET_UP);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const stopped = triton.stop();
      await noted(TEARING_DOWN);
      // The thread has said before that it is ready.
      await turns();
      standStill(stoodStill);
      vi.advanceTimersByTime(passed);
      await turns();
      Atomics.store(words, MAY_END, 1);
      Atomics.notify(words, MAY_END);
      await noted(TORN_DOWN);
      await Promise.all([stopped, ready]);
    } finally {
      vi.restoreAllMocks();
      vi.useRealTimers();
    }
  });

  it('ends the other loads when one model fails', async () => {
    const begun = gate();
    const triton = new Triton({ ...FREE_PORTS, serverThread });
    triton.bind({
      ...SPEC,
      modelName: 'Slow',
      setup: async ({ signal }) => {
        begun.open();
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
      },
    });
    triton.bind({
      ...SPEC,
      modelName: 'Broken',
      setup: async () => {
        await begun.opened;
        throw new Error('no weights');
      },
    });
    await expect(triton.run()).rejects.toThrow("setup of model 'Broken' failed: no weights");
  });
});

describe('the command, while', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('a module is imported, ends on %s', async (signal) => {
    const repository = modelRepository({
      'slow.mjs': `import { endless } from ${JSON.stringify(MODELS)};\nawait endless();\n`,
    });
    const command = watchedProcess([COMMAND, 'serve', `${repository.path}/slow.mjs`, ...FREE]);
    const output = await endedWhileLoading(command, signal, 'Slow is being set up');
    expect(output).toMatch(/^stopped while .*slow\.mjs was imported$/m);
  });

  it.each(['goes-on', 'thread'])('setup is one that %s, ends on SIGTERM', async (how) => {
    const declared =
      "modelName: 'Slow', inputs: { x: { dtype: 'float32', shape: [1] } }, outputs: { y: { dtype: 'float32', shape: [1] } }";
    const repository = modelRepository({
      'slow.mjs': `
import * as models from ${JSON.stringify(MODELS)};
export const model = { ${declared} };
export const setup = () => models.endless();
export default (requests) => requests;
`,
    });
    const instances = how === 'thread' ? ['--instances=2'] : [];
    const command = watchedProcess([COMMAND, 'serve', `${repository.path}/slow.mjs`, ...instances, ...FREE]);
    const output = await endedWhileLoading(command, 'SIGTERM', 'Slow is being set up');
    expect(count(output, "Stopping while models load: 'Slow' version 1\n")).toBe(1);
    expect(output).not.toContain('Ctrl-C');
  });
});
