// An unrecoverable error answers its requests and ends the server, from wherever it is thrown.
import { execFile } from 'node:child_process';

import { describe, expect, it, vi } from 'vitest';

import { batch, defineModel, groupByKeys, instanceGroup, stream, Triton, TritonUnrecoverableError } from 'tstriton';

import { FREE_PORTS, gate, inferJson } from '../support/start-server.js';

const model = defineModel({
  modelName: 'Fatal',
  inputs: { x: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
});
const MODULE = new URL('../fixtures/instance.js', import.meta.url);
const ONE = [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }];

describe.each([{ serverThread: true }, { serverThread: false }])(
  'an unrecoverable error with %o',
  ({ serverThread }) => {
    it.each([
      [
        'a raw callable',
        () => {
          throw new TritonUnrecoverableError('the device was lost', { cause: new Error('reset') });
        },
      ],
      [
        'an asynchronous one',
        async () => {
          throw new TritonUnrecoverableError('the device was lost');
        },
      ],
      [
        'batch',
        batch(() => {
          throw new TritonUnrecoverableError('the device was lost');
        }),
      ],
      [
        'groupByKeys',
        groupByKeys(() => {
          throw new TritonUnrecoverableError('the device was lost');
        }),
      ],
      [
        "one request's promise",
        (requests: readonly unknown[]) =>
          requests.map(async () => {
            throw new TritonUnrecoverableError('the device was lost');
          }),
      ],
      [
        'one request of a batch',
        (requests: readonly unknown[]) => requests.map(() => new TritonUnrecoverableError('the device was lost')),
      ],
    ])('from %s answers, then ends serve() with it', async (_where, inferFunc) => {
      const triton = new Triton({ ...FREE_PORTS, serverThread });
      triton.bind({ ...model, inferFunc: inferFunc as never });
      let told: unknown;
      triton.onUnrecoverable = (error) => (told = error);
      const served = triton.serve();
      await triton.ready();
      const [answer, ended] = await Promise.allSettled([
        inferJson(`http://127.0.0.1:${triton.httpPort}`, 'Fatal', ONE),
        served,
      ]);
      expect(answer).toMatchObject({ value: { status: 500, error: 'the device was lost' } });
      expect(ended).toMatchObject({ status: 'rejected', reason: { message: 'the device was lost' } });
      expect(told).toMatchObject({ message: 'the device was lost' });
      await triton.stop();
      expect(triton.httpPort).toBeUndefined();
    });

    it.each([
      [
        'a generator',
        async function* (requests: readonly unknown[]) {
          if (requests.length > 0) throw new TritonUnrecoverableError('the device was lost');
          yield requests;
        },
      ],
      [
        'stream',
        stream(async function* (inputs) {
          if ('x' in inputs) throw new TritonUnrecoverableError('the device was lost');
          yield {};
        }),
      ],
      [
        'one request of a step',
        function* (requests: readonly unknown[]) {
          yield requests.map(() => new TritonUnrecoverableError('the device was lost'));
        },
      ],
    ])('from %s answers, then ends serve()', async (_where, inferFunc) => {
      const triton = new Triton({ ...FREE_PORTS, serverThread });
      triton.bind({ ...model, config: { decoupled: true }, inferFunc: inferFunc as never });
      const served = triton.serve();
      await triton.ready();
      const asked = fetch(`http://127.0.0.1:${triton.httpPort}/v2/models/Fatal/generate_stream`, {
        method: 'POST',
        body: JSON.stringify({ x: 1 }),
      });
      await expect(served).rejects.toBeInstanceOf(TritonUnrecoverableError);
      expect(await (await asked).text()).toBe('data: {"error":"the device was lost"}\n\n');
    });

    it.each([
      ['while a request runs', 8, 500, { cause: new Error('reset') }],
      ['outside of any request', 7, 503, {}],
    ])('from a thread, %s, ends serve() with itself', async (_when, what, status, cause) => {
      const triton = new Triton({ ...FREE_PORTS, serverThread });
      triton.bind({
        modelName: 'Threads',
        inputs: { x: { dtype: 'int32', shape: [1] } },
        outputs: { y: { dtype: 'string', shape: [1] }, thread: { dtype: 'int32', shape: [1] } },
        inferFunc: instanceGroup(MODULE),
      });
      const served = triton.serve();
      await triton.ready();
      const x = { name: 'x', datatype: 'INT32', shape: [1, 1], data: [what] };
      const [answer, ended] = await Promise.allSettled([
        inferJson(`http://127.0.0.1:${triton.httpPort}`, 'Threads', [x]),
        served,
      ]);
      expect(answer).toMatchObject({ value: { status } });
      expect(ended).toMatchObject({
        reason: { name: 'TritonUnrecoverableError', message: 'the device was lost', ...cause },
      });
    });

    const warmed = {
      modelWarmup: [{ name: 'w', inputs: { x: { dtype: 'float32', shape: [1], zeroData: true } } }],
    } as const;
    const lost = () => {
      throw new TritonUnrecoverableError('the device was lost');
    };

    it.each([
      ['setup', { setup: lost, inferFunc: (requests: readonly unknown[]) => requests }],
      ["a thread's setup", { inferFunc: instanceGroup(MODULE, { args: ['lose the device'] }) }],
      ['warm-up', { config: warmed, inferFunc: lost }],
    ])('from %s ends serve(), also when other failures to load are put up with', async (_where, failing) => {
      const triton = new Triton({ ...FREE_PORTS, serverThread, exitOnError: false });
      triton.bind({ ...model, ...(failing as { inferFunc: never }) });
      let told: unknown;
      triton.onUnrecoverable = (error) => (told = error);
      await expect(triton.serve()).rejects.toMatchObject({
        name: 'TritonUnrecoverableError',
        message: expect.stringMatching(/(^|: )the device was lost$/) as string,
      });
      expect(told).toBeInstanceOf(TritonUnrecoverableError);
    });

    it.each([
      ['of this thread', lost],
      ['of an instance group', instanceGroup(MODULE, { args: ['lose the device in warm-up'] })],
    ])('from the warm-up %s rejects run() with its class', async (_where, inferFunc) => {
      const triton = new Triton({ ...FREE_PORTS, serverThread });
      triton.bind({ ...model, config: warmed, inferFunc: inferFunc as never });
      await expect(triton.run()).rejects.toMatchObject({
        name: 'TritonUnrecoverableError',
        message: "warm-up 'w' of model 'Fatal' failed: the device was lost",
      });
      expect(process.exitCode).toBeUndefined();
    });

    it('from the setup of a thread that is started again ends serve()', async () => {
      const starts = new Int32Array(new SharedArrayBuffer(4));
      const triton = new Triton({ ...FREE_PORTS, serverThread });
      triton.bind({
        modelName: 'Threads',
        inputs: { x: { dtype: 'int32', shape: [1] } },
        outputs: { y: { dtype: 'string', shape: [1] }, thread: { dtype: 'int32', shape: [1] } },
        inferFunc: instanceGroup(MODULE, { args: [['lose the device when started again', starts]] }),
      });
      const served = triton.serve();
      await triton.ready();
      const exit = { name: 'x', datatype: 'INT32', shape: [1, 1], data: [1] };
      const [answer, ended] = await Promise.allSettled([
        inferJson(`http://127.0.0.1:${triton.httpPort}`, 'Threads', [exit]),
        served,
      ]);
      expect(answer).toMatchObject({ value: { status: 503 } });
      const message = expect.stringMatching(
        /^setup of instance 0 of model 'Threads' \(instance\.js\) failed: the device was lost$/,
      ) as string;
      expect(ended).toMatchObject({ reason: { name: 'TritonUnrecoverableError', message } });
    });

    it.each([
      ['nobody listens', '', 1],
      ['somebody does', "triton.onUnrecoverable = () => console.log('told');", 0],
    ])('under run() ends the process with a code that says so when %s', async (_who, listen, code) => {
      const script = `
        import { Triton, TritonUnrecoverableError } from 'tstriton';
        const x = { dtype: 'float32', shape: [1] };
        const triton = new Triton({ httpPort: 0, grpcPort: 0, metricsPort: 0, serverThread: ${serverThread} });
        triton.bind({ modelName: 'Fatal', inputs: { x }, outputs: { y: x }, inferFunc() { throw new TritonUnrecoverableError('lost') } });
        ${listen}
        await triton.run();
        const inputs = [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }];
        const answer = await fetch(\`http://127.0.0.1:\${triton.httpPort}/v2/models/Fatal/infer\`,
          { method: 'POST', body: JSON.stringify({ inputs }) });
        console.log(answer.status);`;
      const ended = await new Promise<string>((resolve) => {
        execFile(process.execPath, ['--input-type=module', '-e', script], (error, stdout) =>
          resolve(`${stdout.trim().split('\n').sort().join(' ')}, exit ${error?.code ?? 0}`),
        );
      });
      expect(ended).toBe(code === 0 ? '500 told, exit 0' : '500, exit 1');
    });

    it('from the setup of a model that is bound later ends serve()', async () => {
      const triton = new Triton({ ...FREE_PORTS, serverThread });
      const served = triton.serve();
      await triton.ready();
      triton.bind({ ...model, setup: lost, inferFunc: (requests) => requests });
      await expect(served).rejects.toBeInstanceOf(TritonUnrecoverableError);
    });
  },
);

it('an unrecoverable error gives the requests beside it half a second', async () => {
  const triton = new Triton({ ...FREE_PORTS, serverThread: false });
  const [began, never] = [gate(), gate()];
  triton.bind({
    ...model,
    config: { batching: false, concurrency: 2 },
    inferFunc: async (requests) => {
      if (requests[0]!.inputs.x.data[0] === 2) throw new TritonUnrecoverableError('the device was lost');
      began.open();
      await never.opened;
      return requests;
    },
  });
  const ended = triton.serve().catch((error: unknown) => error);
  await triton.ready();
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const http = `http://127.0.0.1:${triton.httpPort}`;
  const ask = (value: number) =>
    inferJson(http, 'Fatal', [{ name: 'x', datatype: 'FP32', shape: [1], data: [value] }]).then(({ status, error }) => [
      status,
      error,
    ]);
  let beside: unknown;
  const waits = ask(1).then((answer) => (beside = answer));
  await began.opened;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  expect(await ask(2)).toEqual([500, 'the device was lost']);
  while (triton.isReady) await turn();
  // What has come to idle connections is read first; then the half second begins.
  for (let i = 0; i < 20; i++) await turn();
  vi.advanceTimersByTime(499);
  for (let i = 0; i < 20; i++) await turn();
  expect(beside).toBeUndefined();
  vi.advanceTimersByTime(1);
  vi.useRealTimers();
  await waits;
  expect(beside).toEqual([503, 'Server exiting']);
  expect(await ended).toMatchObject({ name: 'TritonUnrecoverableError', message: 'the device was lost' });
  never.open();
});
