// What whoever runs a server reads in its log: whose a line is, where an error came from, what a stop waits for.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

import { batch, defineModel, instanceGroup, type CallableOf, type Triton, type TritonConfig } from 'tstriton';

import { gate, inferJson, startServer } from '../support/start-server.js';
import { temporaryFolder } from '../support/temporary-files.js';

const file = temporaryFolder();
let files = 0;

const model = defineModel({
  modelName: 'Own',
  inputs: { x: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
});
const telling: CallableOf<typeof model> = batch(({ x }, { logger }) => {
  logger.info(`got ${x.data.join()}`);
  return { y: x };
});
const MODULE = new URL('../fixtures/instance.js', import.meta.url);

describe.each([{ serverThread: true }, { serverThread: false }])('the log of a server with %o', ({ serverThread }) => {
  async function start(bind: (triton: Triton) => void, config: TritonConfig = {}) {
    const logFile = file(`${files++}.log`);
    const server = await startServer(bind, { serverThread, logFile, ...config });
    const ask = (name: string, x: number, datatype = 'FP32') =>
      inferJson(server.http, name, [{ name: 'x', datatype, shape: [1, 1], data: [x] }]);
    /** Without time and process. */
    const lines = () =>
      readFileSync(logFile, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => line.replace(/^(\w)\d{4} \S+ \d+\]/, '$1'));
    return { server, ask, lines };
  }

  it('says whose the lines of callables are', async () => {
    const { server, ask, lines } = await start((triton) => {
      triton.bind({
        ...model,
        modelVersion: 2,
        setup: ({ logger }) => logger.warn('reading the weights'),
        inferFunc: [telling, telling],
      });
    });
    await using _ = server;
    for (const x of [7, 8]) await ask('Own', x);
    const own = lines().filter((line) => line.includes('instance'));
    expect(own[0]).toBe("W instance 0 of model 'Own' version 2: reading the weights");
    // The instances take turns.
    expect(
      own
        .slice(1)
        .map((line) => line.replace(/\d of/, 'n of'))
        .sort(),
    ).toEqual(["I instance n of model 'Own' version 2: got 7", "I instance n of model 'Own' version 2: got 8"]);
    expect(new Set(own.slice(1).map((line) => /instance (\d)/.exec(line)![1])).size).toBe(2);
  });

  it('has a stack as lines', async () => {
    const { server, ask, lines } = await start((triton) => {
      triton.bind({
        ...model,
        inferFunc: function computes() {
          throw new RangeError('no such row\nE1120 00:00:00.000000 1] forged');
        },
      });
    });
    await using _ = server;
    expect((await ask('Own', 1)).status).toBe(500);
    const at = lines().findIndex((line) => line.includes('RangeError'));
    expect(lines()[at]).toBe(
      "E instance 0 of model 'Own': the callable failed: RangeError: no such row\\u000aE1120 00:00:00.000000 1] forged",
    );
    expect(lines()[at + 1]).toMatch(/^ {4}at .*computes.*server-log\.test/);
  });

  it('says whose the lines of instances in threads are', async () => {
    const { server, ask, lines } = await start((triton) => {
      triton.bind({
        modelName: 'Threads',
        inputs: { x: { dtype: 'int32', shape: [1] } },
        outputs: { y: { dtype: 'string', shape: [1] }, thread: { dtype: 'int32', shape: [1] } },
        inferFunc: instanceGroup(MODULE, { count: 2 }),
      });
    });
    for (let i = 0; i < 2; i++) expect((await ask('Threads', 2, 'INT32')).status).toBe(500);
    await server.triton.stop();
    const own = lines().filter((line) => line.includes(" of model 'Threads': "));
    expect(own.map((line) => line.replace(/instance \d/, 'instance n'))).toEqual([
      "E instance n of model 'Threads': the callable failed: Error: thrown in a thread",
      "E instance n of model 'Threads': the callable failed: Error: thrown in a thread",
      "I instance n of model 'Threads': torn down",
      "I instance n of model 'Threads': torn down",
    ]);
    const frames = lines().filter((line) => /^ {4}at .*instance\.js/.test(line));
    expect(frames.length).toBeGreaterThanOrEqual(2);
  });

  it('says which requests a stop waits for, and what fails afterwards', async () => {
    const running = gate();
    const release = gate();
    const { server, ask, lines } = await start((triton) => {
      triton.bind({
        ...model,
        inferFunc: async (requests) => {
          running.open();
          await release.opened;
          return requests;
        },
        teardown: () => {
          throw new Error('nothing to tear down');
        },
      });
    });
    const answer = ask('Own', 1);
    await running.opened;
    const stopped = server.triton.stop();
    await expect.poll(() => lines().at(-1)).toBe("I Model 'Own' (version 1) has 1 in-flight inferences");
    release.open();
    expect((await answer).status).toBe(200);
    await stopped;
    expect(lines().slice(-5)).toEqual([
      'I Waiting for in-flight requests to complete.',
      'I Timeout 30: Found 1 model versions that have in-flight inferences',
      "I Model 'Own' (version 1) has 1 in-flight inferences",
      'I Server stopped',
      "E teardown of model 'Own' failed: nothing to tear down",
    ]);
  });

  it('says that the time for a stop is over', async () => {
    const running = gate();
    const bind = (triton: Triton) => {
      triton.bind({
        ...model,
        inferFunc: () => {
          running.open();
          return new Promise<never>(() => undefined);
        },
      });
    };
    const { server, ask, lines } = await start(bind, { exitTimeoutSecs: 0 });
    const answer = ask('Own', 1);
    await running.opened;
    await server.triton.stop();
    expect((await answer).status).toBe(503);
    expect(lines()).toContain('W Exit timeout expired: what is under way fails');
  });
});
