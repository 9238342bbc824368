// The failure story: a callable charges a customer, the server has no room for its answer and says 503 with Retry-After, and the
// client charges twice more. A client sends a request again only where the server's words prove that nothing was executed.
import { describe, expect, it } from 'vitest';

import { TritonError, type Triton } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { PROTOCOLS } from '../support/played-server.js';
import { binaryBody, post } from '../support/http-infer.js';
import { gate, startServer, type RunningServer } from '../support/start-server.js';

const MIB = 1 << 20;
const RETRY = { maxAttempts: 3, initialBackoffMs: 1, maxBackoffMs: 5 };
const NO_ROOM_FOR_ANSWER = 'too many bytes of answers wait for their clients';

/** What a server says to refuse a request that it has not executed. */
const REFUSALS = [
  'Exceeds maximum queue size',
  '[request id: 7] Exceeds maximum queue size',
  '[request id: <id_unknown>] Server is stopping, scheduler for model has stopped accepting new inference requests',
  "Request for unknown model: 'Other' version 1 is not at ready state",
  'Server not ready',
  'GRPC server is shutting down and has stopped accepting new requests.',
  "model 'Other' is not ready: all instances have ended",
  'the requests of all clients together hold too many bytes: try again later',
];

interface Charges extends RunningServer {
  /** How often each charge was executed. */
  readonly executions: Map<number, number>;
  /** Settles when so many requests hold their bytes. */
  readonly held: (count: number) => Promise<void>;
  readonly release: () => void;
}

async function start(serverThread: boolean, maskErrors = false): Promise<Charges> {
  const executions = new Map<number, number>();
  const { open: release, opened } = gate();
  let holding = 0;
  const server = await startServer(
    (triton: Triton) => {
      const count = (charge: number) => executions.set(charge, (executions.get(charge) ?? 0) + 1);
      triton.bind({
        modelName: 'Charge',
        inputs: { charge: { dtype: 'int32', shape: [1] }, bytes: { dtype: 'int32', shape: [1] } },
        outputs: { receipt: { dtype: 'uint8', shape: [-1] } },
        config: { batching: false },
        inferFunc: (requests) =>
          requests.map(({ inputs: { charge, bytes } }) => {
            count(charge.data[0]!);
            return { receipt: new Uint8Array(bytes.data[0]!).fill(charge.data[0]!) };
          }),
      });
      for (const modelName of ['Held1', 'Held2']) {
        triton.bind({
          modelName,
          inputs: { x: { dtype: 'uint8', shape: [-1] } },
          outputs: { y: { dtype: 'uint8', shape: [1] } },
          config: { maxBatchSize: 1, batcher: { defaultQueuePolicy: { maxQueueSize: 1 } } },
          inferFunc: async (requests) => {
            holding++;
            await opened;
            return requests.map(() => ({ y: Uint8Array.of(1) }));
          },
        });
      }
      triton.bind({
        modelName: 'Fails',
        inputs: { charge: { dtype: 'int32', shape: [1] } },
        outputs: { receipt: { dtype: 'int32', shape: [1] } },
        config: { batching: false },
        inferFunc: (requests) =>
          requests.map(({ inputs: { charge } }) => {
            count(charge.data[0]!);
            // As a callable does that asks another server and passes on what it heard.
            throw new TritonError('UNAVAILABLE', REFUSALS[charge.data[0]!]!);
          }),
      });
      triton.bind({
        modelName: 'Calls',
        inputs: { charge: { dtype: 'uint8', shape: [1] } },
        outputs: { y: { dtype: 'uint8', shape: [1] } },
        config: { maxBatchSize: 1 },
        inferFunc: (requests, context) =>
          requests.map(async ({ inputs: { charge } }) => {
            count(charge.data[0]!);
            const { y } = await context.modelOf(HELD).infer({ x: charge });
            return { y: y! };
          }),
      });
    },
    { serverThread, maskErrors, maxInflightBytes: 64 * MIB },
  );
  return {
    ...server,
    executions,
    release,
    held: async (count) => {
      await expect.poll(() => holding).toBe(count);
    },
  };
}

const HELD = {
  modelName: 'Held1',
  inputs: { x: { dtype: 'uint8', shape: [-1] } },
  outputs: { y: { dtype: 'uint8', shape: [1] } },
  config: { maxBatchSize: 1 },
} as const;

/** Of the 56 MiB that large requests and answers have, requests to these models leave 20. */
const HOLDING = { Held1: 18 * MIB, Held2: 18 * MIB };

const messageOf = (outcome: Promise<unknown>) =>
  outcome.then(
    () => 'answered',
    (error: Error) => error.message,
  );

describe.each([{ serverThread: true }, { serverThread: false }])('a server with %o', ({ serverThread }) => {
  describe.each(PROTOCOLS)('asked over %s', (protocol) => {
    it('is asked once for a charge whose answer finds no room, and again if the client says that it may', async () => {
      await using server = await start(serverThread);
      await using client = new ModelClient(server[protocol], 'Charge', { retry: RETRY });
      const charge = (number: number, bytes: number, options = {}) =>
        client.inferSample({ charge: Int32Array.of(number), bytes: Int32Array.of(bytes) }, options);
      expect((await charge(1, 3)).receipt!.data).toEqual(Uint8Array.of(1, 1, 1));

      const hold = async (modelName: string, size: number) => {
        await using holder = new ModelClient(server[protocol], modelName);
        return (await holder.inferSample({ x: new Uint8Array(size) })).y!.data[0];
      };
      const holders: Promise<unknown>[] = [];
      for (const [modelName, size] of Object.entries(HOLDING)) {
        holders.push(hold(modelName, size));
        // On a busy machine an upload stands still for seconds, and would have to make room for the next one.
        await server.held(holders.length);
      }
      expect(await messageOf(charge(2, 22 * MIB))).toContain(NO_ROOM_FOR_ANSWER);
      expect(server.executions.get(2)).toBe(1);
      expect(await messageOf(charge(3, 22 * MIB, { retry: { idempotent: true } }))).toContain(NO_ROOM_FOR_ANSWER);
      expect(server.executions.get(3)).toBe(3);
      server.release();
      expect(await Promise.all(holders)).toEqual([1, 1]);
      expect((await charge(4, 22 * MIB)).receipt!.data).toEqual(new Uint8Array(22 * MIB).fill(4));
      expect(server.executions.get(4)).toBe(1);
    });

    it.each([false, true])(
      'is asked once for what a callable refuses itself, with maskErrors: %s',
      async (maskErrors) => {
        await using server = await start(serverThread, maskErrors);
        await using client = new ModelClient(server[protocol], 'Fails', { retry: RETRY });
        for (const [charge, text] of REFUSALS.entries()) {
          const message = await messageOf(client.inferSample({ charge: Int32Array.of(charge) }));
          expect([message, server.executions.get(charge)]).toEqual([`model 'Fails' failed while it ran: ${text}`, 1]);
        }
      },
    );

    it('is asked once for a callable that is refused by a model that it calls', async () => {
      await using server = await start(serverThread);
      await using holder = new ModelClient(server[protocol], 'Held1');
      const held = [1, 2].map((value) => holder.inferSample({ x: Uint8Array.of(value) }));
      await server.held(1);
      // One runs, one waits.
      await expect
        .poll(async () => (await fetch(server.metrics)).text())
        .toContain('nv_inference_pending_request_count{model="Held1",version="1"} 1');
      await using client = new ModelClient(server[protocol], 'Calls', { retry: RETRY });
      expect(await messageOf(client.inferSample({ charge: Uint8Array.of(1) }))).toContain('Exceeds maximum queue size');
      expect(server.executions.get(1)).toBe(1);
      server.release();
      await Promise.all(held);
    });

    it('is asked again for a charge that it had no room for, and charges once', async () => {
      await using server = await start(serverThread);
      await using first = new ModelClient(server[protocol], 'Held1');
      await using second = new ModelClient(server[protocol], 'Held2');
      const holders = [
        first.inferSample({ x: new Uint8Array(HOLDING.Held1) }),
        second.inferSample({ x: new Uint8Array(HOLDING.Held2) }),
      ];
      await server.held(2);
      const attempts: number[] = [];
      await using client = new ModelClient(server[protocol], 'Held1', { retry: { ...RETRY, maxAttempts: 1000 } });
      const refused = client.inferSample(
        { x: new Uint8Array(22 * MIB) },
        {
          onTimings: ({ attempt }) => {
            attempts.push(attempt);
            server.release();
          },
        },
      );
      expect((await refused).y!.data).toEqual(Uint8Array.of(1));
      expect(attempts.length).toBeGreaterThan(1);
      await Promise.all(holders);
      await server.held(3);
    });
  });

  it('says when to come again only where it has executed nothing', async () => {
    await using server = await start(serverThread);
    const holders = Object.entries(HOLDING).map(async ([modelName, size]) => {
      await using holder = new ModelClient(server.http, modelName);
      await holder.inferSample({ x: new Uint8Array(size) });
    });
    await server.held(2);
    const inputs = [
      { name: 'charge', datatype: 'INT32', shape: [1], bytes: new Uint8Array(Int32Array.of(1).buffer) },
      { name: 'bytes', datatype: 'INT32', shape: [1], bytes: new Uint8Array(Int32Array.of(22 * MIB).buffer) },
    ];
    const { body, headers } = binaryBody(inputs);
    const executed = await post(server.http, 'Charge', body, {
      headers: { ...headers, 'accept-encoding': 'identity' },
    });
    expect([executed.status, executed.headers.get('retry-after'), executed.json.error]).toEqual([
      503,
      null,
      expect.stringContaining(NO_ROOM_FOR_ANSWER),
    ]);
    const large = binaryBody([{ name: 'x', datatype: 'UINT8', shape: [1, 22 * MIB], bytes: new Uint8Array(22 * MIB) }]);
    const refused = await post(server.http, 'Held1', large.body, { headers: large.headers });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    server.release();
    await Promise.all(holders);
  });
});
