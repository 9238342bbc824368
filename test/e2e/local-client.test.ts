// Clients that take a Triton in the place of a URL: the same as over a wire, without one.
import { describe, expect, it } from 'vitest';

import { batch, defineModel, stream, Triton, TritonError, type TritonConfig } from 'tstriton';
import { connect, ModelClient, ServerClient } from 'tstriton/client';

import { FREE_PORTS, gate } from '../support/start-server.js';

const QUIET: TritonConfig = { ...FREE_PORTS, logInfo: false, logError: false };
const NO_PORTS: TritonConfig = { ...QUIET, allowHttp: false, allowGrpc: false, allowMetrics: false };

const double = defineModel({
  modelName: 'Double',
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
});
const count = defineModel({
  modelName: 'Count',
  inputs: { to: { dtype: 'int32', shape: [1] } },
  outputs: { i: { dtype: 'int32', shape: [1] } },
  config: { decoupled: true, batching: false },
});

function bound(config: TritonConfig) {
  const triton = new Triton(config);
  triton.bind({
    ...double,
    inferFunc: batch(({ x }) => {
      if (x.data.includes(-1)) throw new TritonError('INVALID_ARG', 'there is no -1');
      return { y: x.map((value) => 2 * value) };
    }),
  });
  return triton;
}

describe('a client of a Triton in its own thread', () => {
  it.each([NO_PORTS, QUIET, { ...QUIET, serverThread: false }])('gets its own answers, with %o', async (config) => {
    await using triton = bound(config);
    await using client = new ModelClient(triton, double);
    await triton.run();
    const lengths = Array.from({ length: 200 }, (_, i) => 1 + ((i * 37) % 5000));
    const answers = await Promise.all(
      lengths.map((length, i) => client.inferSample({ x: Float32Array.from({ length }, (_, k) => i + k) })),
    );
    for (const [i, { y }] of answers.entries()) {
      expect(y!.data).toEqual(Float32Array.from({ length: lengths[i]! }, (_, k) => 2 * (i + k)));
    }
    await expect(client.inferSample({ x: [-1] })).rejects.toMatchObject({
      code: 'INVALID_ARG',
      message: 'there is no -1',
    });
    await using server = new ServerClient(triton);
    expect((await server.metadata()).name).toBe('triton');
    await using models = connect(triton, { double });
    expect((await models.models.double.inferSample({ x: [4] })).y!.data).toEqual(Float32Array.of(8));
  });

  it('makes a generator wait for a slow reader, and ends it when it leaves', async () => {
    const state = { made: 0, ended: gate() };
    await using triton = new Triton(NO_PORTS);
    triton.bind({
      ...count,
      inferFunc: stream(async function* ({ to }) {
        try {
          for (let i = 0; i < to.data[0]!; i++) {
            state.made++;
            yield { i: [i] };
          }
        } finally {
          state.ended.open();
        }
      }),
    });
    await using client = new ModelClient(triton, count);
    await triton.run();
    const got: number[] = [];
    for await (const { i } of client.streamSample({ to: [100_000] })) {
      got.push(i!.data[0]!);
      if (got.length === 50) break;
    }
    await state.ended.opened;
    expect(got).toEqual(Array.from({ length: 50 }, (_, i) => i));
    expect(state.made).toBeLessThan(1000);
  });

  it('is refused while the server does not run, and served by the next run', async () => {
    const triton = bound(NO_PORTS);
    await using client = new ModelClient(triton, double, { retry: false });
    const ask = (x: number) => client.inferSample({ x: [x] }).then(({ y }) => y!.data[0], String);
    const refused = 'TritonError: the server does not run; call run() first';
    expect(await ask(1)).toBe(refused);
    for (const x of [2, 3]) {
      await triton.run();
      expect(await ask(x)).toBe(2 * x);
      await triton.stop();
      expect(await ask(x)).toBe(refused);
    }
  });

  it('may be made after run() where the server has no thread of its own, and is refused where it has', async () => {
    await using inline = bound({ ...QUIET, serverThread: false });
    await inline.run();
    await using client = new ModelClient(inline, double);
    expect((await client.inferSample({ x: [5] })).y!.data).toEqual(Float32Array.of(10));
    await using threaded = bound(QUIET);
    await threaded.run();
    expect(() => new ModelClient(threaded, double)).toThrow('made before run(), or with serverThread: false');
  });
});
