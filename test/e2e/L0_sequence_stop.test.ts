// A server that stops while sequences live: they go on over every wire until they are over, and nothing else does.
import { describe, expect, it, vi } from 'vitest';

import { batch, type Triton, type TritonConfig } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { readinessOf, startServer, type RunningServer } from '../support/start-server.js';

const INTEGER = { dtype: 'int32', shape: [1] } as const;
const MODES = [
  ['with a thread of its own', {}],
  ["in the user's thread", { serverThread: false }],
] as const satisfies readonly (readonly [string, TritonConfig])[];

const REFUSED = 'Server is stopping, scheduler for model has stopped accepting new inference requests';

class Total {
  sum = 0;
}

/** A total for each sequence, which another model doubles. */
function bind(triton: Triton, told: string[]): void {
  triton.bind({
    modelName: 'Double',
    inputs: { x: INTEGER },
    outputs: { y: INTEGER },
    inferFunc: batch(({ x }) => ({ y: x.map((value) => 2 * value) })),
  });
  triton.bind({
    modelName: 'Totals',
    inputs: { x: INTEGER },
    outputs: { total: INTEGER },
    config: {
      maxBatchSize: 4,
      sequenceBatching: {
        maxSequenceIdleMicroseconds: 600_000_000,
        state: () => new Total(),
        onEnd: ({ sum }: Total, reason) => void told.push(`${sum} ${reason}`),
      },
    },
    inferFunc: batch(async ({ x }, { sequences, models }) => {
      const totals = x.map((value, row) => ((sequences[row]!.state as Total).sum += value));
      const { y } = await models['Double']!.infer({ x: totals });
      return { total: y! };
    }),
  });
}

type Flags = { readonly start?: boolean; readonly end?: boolean };

const oneTry = { retry: false } as const;

/** Sends requests of one sequence over one kept connection, or over one gRPC stream. */
function sequenceOver(url: string, id: number, streamed: boolean) {
  const client = new ModelClient(url, 'Totals', oneTry);
  const stream = streamed ? client.stream() : undefined;
  const send = async (x: number, { start = false, end = false }: Flags = {}) => {
    const inputs = { x: Int32Array.of(x) };
    const options = { sequence: { id, start, end } };
    if (stream === undefined) return totalOf(await client.inferSample(inputs, options));
    await stream.send(inputs, options);
    const { value } = await stream.next();
    if (value?.error !== undefined) throw value.error;
    return totalOf(value!.outputs as Parameters<typeof totalOf>[0]);
  };
  return {
    send,
    async close() {
      stream?.end();
      await client.close();
    },
  };
}

function totalOf(outputs: Readonly<Record<string, { readonly data: unknown }>>): number {
  return (outputs['total']!.data as Int32Array)[0]!;
}

async function refusal(sent: Promise<unknown>): Promise<string> {
  return sent.then(
    (answer) => `answered ${JSON.stringify(answer)}`,
    (error: Error) => error.message,
  );
}

const wiresOf = ({ http, grpc }: RunningServer) =>
  [
    [http, false],
    [grpc, false],
    [grpc, true],
  ] as const;

describe.each(MODES)('a server %s that stops', (_, mode) => {
  it('serves live sequences until they end, and refuses everything else', async () => {
    const told: string[] = [];
    await using server = await startServer((triton) => bind(triton, told), mode);
    const lives = wiresOf(server).map(([url, streamed], index) => ({
      ...sequenceOver(url, index + 1, streamed),
      value: 10 ** index,
    }));
    for (const { send, value } of lives) expect(await send(value, { start: true })).toBe(2 * value);

    let isOver = false;
    const stopped = server.triton.stop().then(() => (isOver = true));
    await expect.poll(() => readinessOf(server.http)).toBe(400);
    for (const { send, value } of lives) expect(await send(value)).toBe(4 * value);
    for (const [index, [url, streamed]] of wiresOf(server).entries()) {
      const late = sequenceOver(url, 100 + index, streamed);
      expect(await refusal(late.send(7, { start: true }))).toContain(REFUSED);
      await late.close();
    }
    await using others = new ModelClient(server.http, 'Double', oneTry);
    expect(await refusal(others.inferSample({ x: Int32Array.of(3) }))).toContain(REFUSED);
    // Each on its kept connection again, and the last END ends the server.
    for (const { send, value } of lives) {
      expect(isOver).toBe(false);
      expect(await send(value, { end: true })).toBe(6 * value);
    }
    for (const { close } of lives) await close();
    await stopped;
    expect(told).toEqual(['3 ended', '30 ended', '300 ended']);
  });

  it('serves a live sequence on a connection that is made during the stop', async () => {
    const told: string[] = [];
    await using server = await startServer((triton) => bind(triton, told), mode);
    const [before, after] = [sequenceOver(server.http, 5, false), sequenceOver(server.http, 5, false)];
    expect(await before.send(4, { start: true })).toBe(8);
    await before.close();
    const stopped = server.triton.stop();
    await expect.poll(() => readinessOf(server.http)).toBe(400);
    expect(await after.send(1, { end: true })).toBe(10);
    await after.close();
    await stopped;
    expect(told).toEqual(['5 ended']);
  });

  it('ends live sequences when its exit timeout is over', async () => {
    const told: string[] = [];
    await using server = await startServer((triton) => bind(triton, told), { ...mode, exitTimeoutSecs: 1 });
    const live = sequenceOver(server.grpc, 9, false);
    expect(await live.send(6, { start: true })).toBe(12);
    const begunAt = performance.now();
    await server.triton.stop();
    // A timer may be early by a fraction of a millisecond.
    expect(performance.now() - begunAt).toBeGreaterThanOrEqual(998);
    // The stop has no time left to wait in, so the news may come after it.
    await vi.waitFor(() => expect(told).toEqual(['6 unloaded']));
    await live.close();
  });

  it('does not wait for sequences without any time to exit', async () => {
    const told: string[] = [];
    await using server = await startServer((triton) => bind(triton, told), { ...mode, exitTimeoutSecs: 0 });
    const live = sequenceOver(server.http, 11, false);
    expect(await live.send(6, { start: true })).toBe(12);
    await server.triton.stop();
    // The stop waits for nobody here, so the news may come after it.
    await vi.waitFor(() => expect(told).toEqual(['6 unloaded']));
    await live.close();
  });
});
