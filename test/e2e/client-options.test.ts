// Options of single calls that the server has to understand: classification, priority, time in the queue; the same over both
// protocols.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { defineModel, type Triton } from 'tstriton';
import { TritonConnectionError, TritonTimeoutError } from 'tstriton/client';

import { CLIENT_KINDS, CLIENTS } from '../support/clients.js';
import { gate, type RunningServer } from '../support/start-server.js';

const scores = defineModel({
  modelName: 'Scores',
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [3], labels: ['cat', 'dog'] }, n: { dtype: 'int32', shape: [1] } },
});

/** Executes one request at a time, and tells the order. */
const slow = defineModel({
  modelName: 'Slow',
  inputs: { x: { dtype: 'int32', shape: [1] } },
  outputs: { y: { dtype: 'int32', shape: [1] } },
  config: {
    maxBatchSize: 1,
    batcher: {
      priorityLevels: 3,
      defaultPriorityLevel: 2,
      defaultQueuePolicy: {
        allowTimeoutOverride: true,
        defaultTimeoutMicroseconds: 60_000_000,
        timeoutAction: 'REJECT',
      },
    },
  },
});

function bindModels(triton: Triton, order: number[], first: Promise<void>, begun: () => void): void {
  triton.bind({
    ...scores,
    inferFunc: (requests) => requests.map(({ inputs: { x } }) => ({ y: x, n: new Int32Array(x.shape[0]!).fill(1) })),
  });
  triton.bind({
    ...slow,
    inferFunc: async (requests) => {
      const value = requests[0]!.inputs.x.data[0]!;
      order.push(value);
      begun();
      if (value === 0) await first;
      return requests;
    },
  });
}

describe.each(CLIENT_KINDS)('a call over %s', (kind) => {
  const { ModelClient, at, start } = CLIENTS[kind];
  let server: RunningServer;
  const order: number[] = [];
  const held = gate();
  const begun = gate();

  beforeAll(async () => {
    server = await start((triton) => bindModels(triton, order, held.opened, begun.open));
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('gets the best classes of an output as texts', async () => {
    await using client = new ModelClient(at(server), scores);
    const { y, n } = await client.inferSample({ x: [0.5, 2, 1] }, { classes: { y: 2 } });
    expect(y).toMatchObject({ dtype: 'string', shape: [2], data: ['2.000000:1:dog', '1.000000:2'] });
    expect(n!.data).toEqual(Int32Array.of(1));
    const batch = await client.inferBatch({ x: [[1, 2, 3], [3, 2, 1]] }, { classes: { y: 1 }, outputs: ['y'] }); // prettier-ignore
    expect(batch.y!.toNested()).toEqual([['3.000000:2'], ['3.000000:0:cat']]);
    expect(batch).not.toHaveProperty('n');
  });

  it('has its headers among the parameters, where their names match the pattern', async () => {
    const pattern = '^x-user$';
    const user = defineModel({
      modelName: 'User',
      inputs: { x: { dtype: 'int32', shape: [1] } },
      outputs: { user: { dtype: 'string', shape: [1] } },
      config: { batching: false },
    });
    await using forwarding = await start(
      (triton) =>
        triton.bind({
          ...user,
          inferFunc: (requests) => requests.map(({ parameters }) => ({ user: [JSON.stringify(parameters)] })),
        }),
      { httpHeaderForwardPattern: pattern, grpcHeaderForwardPattern: pattern },
    );
    await using client = new ModelClient(at(forwarding), user, { headers: { 'X-User': 'ann', 'x-users': 'no' } });
    const { user: seen } = await client.inferSample([1], { parameters: { n: 1 } });
    expect(JSON.parse(seen!.data[0]!)).toEqual({ n: 1, 'x-user': 'ann' });
  });

  const isGrpc = kind === 'grpc' || kind === 'in-process';

  it.runIf(isGrpc)('carries no tensors as JSON', () => {
    expect(() => new ModelClient(at(server), scores, { binaryData: false })).toThrow('binaryData: false is for http');
  });

  it.runIf(!isGrpc)('carries tensors as JSON where that is asked for', async () => {
    await using client = new ModelClient(at(server), scores, { binaryData: false });
    const { y, n } = await client.inferSample({ x: [0.1, -2, 3e38] });
    expect(y!.data).toEqual(Float32Array.of(0.1, -2, 3e38));
    expect(n!.data).toEqual(Int32Array.of(1));
    const { y: best } = await client.inferSample({ x: [0.5, 2, 1] }, { classes: { y: 1 }, outputs: ['y'] });
    expect(best!.data).toEqual(['2.000000:1:dog']);
  });

  // It looks at metrics, of which there are none without ports.
  it.skipIf(kind === 'in-process')(
    'goes before others by its priority, and leaves the queue after its time',
    async () => {
      await using client = new ModelClient(at(server), slow);
      const running = client.inferSample([0]);
      await begun.opened;
      const late = client.inferSample([1], { serverTimeoutMicroseconds: 1 });
      await expect(late).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        message: expect.stringContaining('expired') as string,
      });
      await expect(late).rejects.toSatisfy(
        (error) => !TritonTimeoutError.is(error) && !TritonConnectionError.is(error),
      );
      const waiting = [
        client.inferSample([3], { priority: 3 }),
        client.inferSample([2]),
        client.inferSample([4], { priority: 1 }),
      ];
      // All of them wait: they are counted before the first one ends.
      await expect
        .poll(
          async () => /pending_request_count\{.*Slow.*\} (\d+)/.exec(await (await fetch(server.metrics)).text())?.[1],
        )
        .toBe('3');
      held.open();
      await Promise.all([running, ...waiting]);
      expect(order).toEqual([0, 4, 2, 3]);
    },
  );
});
