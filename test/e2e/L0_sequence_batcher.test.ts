// Models that batch by sequences, end to end: over both wires, with the server's thread and without.
import { describe, expect, it } from 'vitest';

import { batch, instanceGroup, type Triton, type TritonConfig } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { post } from '../support/http-infer.js';
import { RawConnection } from '../support/raw-http.js';
import { startServer, type RunningServer } from '../support/start-server.js';

const INTEGER = { dtype: 'int32', shape: [1] } as const;
const MODES = [
  ['with a thread of its own', {}],
  ["in the user's thread", { serverThread: false }],
] as const satisfies readonly (readonly [string, TritonConfig])[];

class Total {
  sum = 0;
}

/** A total for each sequence, as an object, as a tensor, and by control inputs. */
function bind(triton: Triton, told: string[] = []): void {
  triton.bind({
    modelName: 'objects',
    inputs: { x: INTEGER },
    outputs: { total: INTEGER },
    config: {
      maxBatchSize: 4,
      sequenceBatching: {
        maxSequenceIdleMicroseconds: 30_000_000,
        state: () => new Total(),
        onEnd: ({ sum }: Total, reason) => void told.push(`${sum} ${reason}`),
      },
    },
    inferFunc: batch(({ x }, { sequences }) => ({
      total: x.map((value, row) => ((sequences[row]!.state as Total).sum += value)),
    })),
  });
  triton.bind({
    modelName: 'tensors',
    inputs: { x: INTEGER },
    outputs: { total: INTEGER },
    config: {
      maxBatchSize: 4,
      sequenceBatching: {
        strategy: 'oldest',
        maxSequenceIdleMicroseconds: 30_000_000,
        state: { before: { ...INTEGER, output: 'after', initial: 100 } },
      },
    },
    inferFunc: (requests) =>
      requests.map(({ inputs }) => {
        const { x, before } = inputs as unknown as Record<'x' | 'before', { readonly data: Int32Array }>;
        const total = [[x.data[0]! + before.data[0]!]];
        return { total, after: total };
      }),
  });
}

function inThreadsOf(triton: Triton): void {
  triton.bind({
    modelName: 'threads',
    inputs: { x: INTEGER },
    outputs: { total: INTEGER, thread: INTEGER },
    config: { maxBatchSize: 2, sequenceBatching: { maxSequenceIdleMicroseconds: 30_000_000, state: () => 0 } },
    inferFunc: instanceGroup(new URL('../fixtures/sequence-instance.js', import.meta.url).href, { count: 2 }),
  });
}

/** Sends requests of one sequence. */
function sender(url: string, model: string) {
  const client = new ModelClient(url, model);
  const send = async (id: number | string, x: number, { start = false, end = false } = {}) => {
    try {
      const { total } = await client.inferSample({ x: Int32Array.of(x) }, { sequence: { id, start, end } });
      return (total as { readonly data: Int32Array }).data[0];
    } catch (error) {
      return (error as Error).message;
    }
  };
  return { send, [Symbol.asyncDispose]: () => client.close() };
}

type Sender = ReturnType<typeof sender>;

const unknown = (id: number, model: string) =>
  `inference request for sequence ${id} to model '${model}' must specify the START flag on the first request of the sequence`;

describe.each(MODES)('a server %s', (_, mode) => {
  const wires = (server: RunningServer) => [server.http, server.grpc];

  it('keeps an object for each sequence, and tells when it is needed no more', async () => {
    const told: string[] = [];
    await using server = await startServer((triton) => bind(triton, told), mode);
    for (const url of wires(server)) {
      await using own = sender(url, 'objects');
      const { send } = own;
      expect(await send(1, 3, { start: true })).toBe(3);
      expect(await send('1', 50, { start: true })).toBe(50);
      expect(await send(1, 4)).toBe(7);
      expect(await send('1', 1, { end: true })).toBe(51);
      expect(await send(1, 1, { start: true })).toBe(1);
      expect(await send(1, 2, { end: true })).toBe(3);
      expect(await send(1, 2)).toBe(unknown(1, 'objects'));
    }
    const once = ['51 ended', '7 restarted', '3 ended'];
    expect(told).toEqual([...once, ...once]);
  });

  it('keeps tensors for each sequence, which begin as declared', async () => {
    await using server = await startServer(bind, mode);
    for (const url of wires(server)) {
      await using own = sender(url, 'tensors');
      const { send } = own;
      expect(await Promise.all([1, 2, 3, 4].map((id) => send(id, id, { start: true })))).toEqual([101, 102, 103, 104]);
      expect(await Promise.all([4, 3, 2, 1].map((id) => send(id, 10, { end: true })))).toEqual([114, 113, 112, 111]);
      expect(await send(4, 10)).toBe(unknown(4, 'tensors'));
    }
  });

  it('keeps a sequence in the thread of its instance', async () => {
    await using server = await startServer(inThreadsOf, mode);
    await using client = new ModelClient(server.grpc, 'threads');
    const ids = [1, 2, 3, 4];
    const send = async (id: number, start: boolean, end: boolean) => {
      const { total, thread } = await client.inferSample({ x: Int32Array.of(id) }, { sequence: { id, start, end } });
      return [total, thread].map((tensor) => (tensor as { readonly data: Int32Array }).data[0]!) as [number, number];
    };
    const first = await Promise.all(ids.map((id) => send(id, true, false)));
    const second = await Promise.all(ids.map((id) => send(id, false, true)));
    expect(first.map(([total]) => total)).toEqual(ids);
    expect(second.map(([total]) => total)).toEqual(ids.map((id) => 2 * id));
    expect(second.map(([, thread]) => thread)).toEqual(first.map(([, thread]) => thread));
    expect(new Set(first.map(([, thread]) => thread)).size).toBe(2);
  });

  it('loses the sequences of a thread that dies, and says so to the next request of each', async () => {
    await using server = await startServer(
      (triton) =>
        triton.bind({
          modelName: 'fragile',
          inputs: { x: INTEGER },
          outputs: { total: INTEGER, thread: INTEGER },
          config: { maxBatchSize: 8, sequenceBatching: { maxSequenceIdleMicroseconds: 600_000_000, state: () => 0 } },
          inferFunc: instanceGroup(new URL('../fixtures/sequence-instance.js', import.meta.url).href, { count: 1 }),
        }),
      mode,
    );
    const [http, grpc] = wires(server).map((url) => sender(url, 'fragile')) as [Sender, Sender];
    await using _http = http;
    await using _grpc = grpc;
    expect(await http.send(1, 10, { start: true })).toBe(10);
    expect(await grpc.send(2, 20, { start: true })).toBe(20);
    expect(await http.send('killer', -1, { start: true })).toContain("an instance of model 'fragile' ended");
    const lost = (id: number) =>
      `sequence ${id} of model 'fragile' was lost when the instance that kept it ended: it must begin again with the START flag`;
    // When the instance takes more than a second to come back, the model is not ready for a while.
    await expect.poll(() => http.send(1, 11)).toBe(lost(1));
    await expect.poll(() => grpc.send(2, 21, { end: true })).toBe(lost(2));
    await expect.poll(() => grpc.send(1, 12)).toBe(unknown(1, 'fragile'));
    await expect.poll(() => grpc.send(1, 13, { start: true })).toBe(13);
    expect(await http.send(1, 14, { end: true })).toBe(27);
  });

  it('takes the sequence of generate from its parameters', async () => {
    await using server = await startServer(bind, mode);
    const generate = async (body: object) =>
      (await post(server.http, 'objects', JSON.stringify(body), { action: 'generate' })).text;
    const parameters = { sequence_id: 7, sequence_start: true };
    expect(await generate({ x: 2, parameters })).toContain('"total":2');
    expect(await generate({ x: 3, sequence_id: 7, sequence_end: true })).toContain('"total":5');
    expect(await generate({ x: 3 })).toContain('must specify a non-zero or non-empty correlation ID');
  });

  it('ends what is live when a model is unbound', async () => {
    const told: string[] = [];
    await using server = await startServer((triton) => bind(triton, told), mode);
    await using own = sender(server.http, 'objects');
    expect(await own.send(1, 3, { start: true })).toBe(3);
    await server.triton.unbind('objects');
    expect(told).toEqual(['3 unloaded']);
  });

  it('shows live sequences in its metrics', async () => {
    await using server = await startServer(bind, mode);
    await using own = sender(server.grpc, 'objects');
    await own.send(1, 3, { start: true });
    const text = await (await fetch(server.metrics)).text();
    expect(text).toContain('tstriton_live_sequences{model="objects",version="1"} 1');
    expect(text).toContain('tstriton_backlogged_sequences{model="objects",version="1"} 0');
    await own.send(1, 3, { end: true });
  });
});

describe("a server in the user's thread", () => {
  it.each([600, 1500])('keeps a sequence whose next request came while it stood still for %d ms', async (still) => {
    await using server = await startServer((triton) => {
      triton.bind({
        modelName: 'brief',
        inputs: { x: INTEGER },
        outputs: { total: INTEGER },
        config: { sequenceBatching: { maxSequenceIdleMicroseconds: 300_000, state: () => new Total() } },
        inferFunc: batch(({ x }, { sequences }) => ({
          total: x.map((value, row) => ((sequences[row]!.state as Total).sum += value)),
        })),
      });
    }, MODES[1][1]);
    await using client = await RawConnection.open(server.triton.httpPort!);
    const request = (start: boolean) => {
      const inputs = [{ name: 'x', datatype: 'INT32', shape: [1, 1], data: [4] }];
      const body = JSON.stringify({ parameters: { sequence_id: 7, sequence_start: start }, inputs });
      return `POST /v2/models/brief/infer HTTP/1.1\r\nHost: h\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    };
    await client.send(request(true));
    expect((await client.answer())?.status).toBe(200);
    // Timers come before the bytes.
    setImmediate(() => {
      void client.send(request(false));
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, still);
    });
    const answer = await client.answer();
    expect(answer?.body.toString()).toContain('"data":[8]');
  });
});
