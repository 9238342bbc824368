// Triton's L0_optional_input: inputs that a request may leave out, over both protocols, alone and in batches.
import { describe, expect, it } from 'vitest';

import { defineModel, type DynamicBatcher, type Triton } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { gate, inferJson, pendingRequests, startServer } from '../support/start-server.js';

const model = defineModel({
  modelName: 'Optional',
  inputs: {
    x: { dtype: 'float32', shape: [1] },
    y: { dtype: 'float32', shape: [1], optional: true },
    z: { dtype: 'string', shape: [1], optional: true },
  },
  outputs: { given: { dtype: 'string', shape: [1] } },
  config: { maxBatchSize: 8 },
});

/** Answers which inputs came, and tells the batches by their requests' inputs. */
function bind(
  triton: Triton,
  batches: string[][] = [],
  { wait, batcher = {} }: { readonly wait?: Promise<void>; readonly batcher?: DynamicBatcher } = {},
): void {
  triton.bind({
    ...model,
    config: { ...model.config, batcher },
    inferFunc: async (requests) => {
      const given = requests.map(({ inputs }) => Object.keys(inputs).join('+'));
      batches.push(given);
      await wait;
      return given.map((names) => ({ given: [[names]] }));
    },
  });
}

const tensor = (name: string) =>
  name === 'z'
    ? { name, datatype: 'BYTES', shape: [1, 1], data: ['text'] }
    : { name, datatype: 'FP32', shape: [1, 1], data: [1] };
const ask = (http: string, names: string) => inferJson(http, 'Optional', names.split('').map(tensor));

describe.each([{ serverThread: true }, { serverThread: false }])('L0_optional_input with %o', ({ serverThread }) => {
  it.each(['x', 'xy', 'xz', 'xyz', 'zyx'])(
    'takes the inputs %s, and hands them on in declaration order',
    async (names) => {
      await using server = await startServer(bind, { serverThread });
      const answer = await ask(server.http, names);
      expect(answer.outputs[0]!.data).toEqual([names.split('').sort().join('+')]);
    },
  );

  it.each(['http', 'grpc'] as const)('lets the client leave them out over %s', async (wire) => {
    await using server = await startServer(bind, { serverThread });
    await using client = new ModelClient(server[wire], model);
    expect((await client.inferSample({ x: [1] })).given!.data).toEqual(['x']);
    expect((await client.inferSample({ x: [1], z: ['text'] })).given!.data).toEqual(['x+z']);
  });

  it('refuses a request without the required one, and with too many, in the words of Triton', async () => {
    await using server = await startServer(bind, { serverThread });
    expect(await ask(server.http, 'yz')).toMatchObject({ status: 400 });
    expect(await inferJson(server.http, 'Optional', [])).toMatchObject({
      status: 400,
      error:
        "[request id: <id_unknown>] expected number of inputs between 1 and 3 but got 0 inputs for model 'Optional'. " +
        "Got input(s) [], but missing required input(s) ['x']. Please provide all required input(s).",
    });
  });

  it('puts only requests with the same inputs into one batch', async () => {
    const batches: string[][] = [];
    const release = gate();
    await using server = await startServer((triton) => bind(triton, batches, { wait: release.opened }), {
      serverThread,
    });
    const first = ask(server.http, 'x');
    await expect.poll(() => batches.length).toBe(1);
    const waiting: Promise<unknown>[] = [];
    for (const [index, names] of ['xy', 'xy', 'xz', 'xy'].entries()) {
      waiting.push(ask(server.http, names));
      await expect.poll(async () => pendingRequests(await (await fetch(server.metrics)).text())).toBe(index + 1);
    }
    release.open();
    await Promise.all([first, ...waiting]);
    expect(batches).toEqual([['x'], ['x+y', 'x+y'], ['x+z'], ['x+y']]);
  });

  it.each([
    ['one of them each', ['xy', 'xz', 'xy', 'xz']],
    ['one or all of them', ['xy', 'xyz', 'xy', 'xyz']],
  ])('sends all but the last at once when requests alternate between %s', async (_, [first, second, third, last]) => {
    const batches: string[][] = [];
    const batcher = { maxQueueDelayMicroseconds: 3_600_000_000 };
    await using server = await startServer((triton) => bind(triton, batches, { batcher }), { serverThread });
    const pending = async () => pendingRequests(await (await fetch(server.metrics)).text());
    let waiting = ask(server.http, first!);
    for (const names of [second!, third!]) {
      await expect.poll(pending).toBe(1);
      const next = ask(server.http, names);
      expect((await waiting).status).toBe(200);
      waiting = next;
    }
    await expect.poll(pending).toBe(1);
    const leaving = new AbortController();
    const late = inferJson(server.http, 'Optional', last!.split('').map(tensor), {}, leaving.signal);
    expect((await waiting).status).toBe(200);
    await expect.poll(pending).toBe(1);
    expect(batches).toHaveLength(3);
    leaving.abort();
    await expect(late).rejects.toThrow('abort');
    await expect.poll(pending).toBe(0);
  });
});
