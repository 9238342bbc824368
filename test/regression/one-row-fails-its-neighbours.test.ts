// The failure story: one client asks with a session that nobody knows. Its row is in one batch with those of forty others;
// the callable throws, all forty-one fail, and forty clients read the session of a stranger.
import { batch, TritonError, type ModelConfig, type TensorFunc, type TritonConfig } from 'tstriton';
import { ModelClient } from 'tstriton/client';
import { describe, expect, it } from 'vitest';

import { gate, startServer, type RunningServer } from '../support/start-server.js';
import { WAIT_MILLISECONDS } from '../support/waiting.js';

const SPEC = {
  modelName: 'Sessions',
  inputs: { session: { dtype: 'string', shape: [1] }, x: { dtype: 'float64', shape: [3] } },
  outputs: { y: { dtype: 'float64', shape: [3] } },
} as const;
type Infer = TensorFunc<typeof SPEC.inputs, typeof SPEC.outputs>;

const CLIENTS = 41;
/** The one whose session is unknown, and which of its rows. */
const BAD = 17;
const BAD_ROW = 1;
const SECRET = 'of-client-17';
const UNKNOWN = `unknown session '${SECRET}'`;

const rowsOf = (client: number) => (client === BAD ? 3 : 1 + (client % 4));
const sessionOf = (client: number, row: number) => (client === BAD && row === BAD_ROW ? SECRET : `known ${client}`);
const valuesOf = (client: number, row: number) => [client, row, client / 7 + row];
const isKnown = (session: string) => session.startsWith('known');

/** One batch of all clients' requests, each of its own size and content. */
async function askAll(server: RunningServer, joined: Joined): Promise<(string | true)[]> {
  const wires = [
    new ModelClient(server.http, SPEC, { retry: false }),
    new ModelClient(server.grpc, SPEC, { retry: false }),
  ];
  const ask = async (client: number) => {
    const rows = Array.from({ length: rowsOf(client) }, (_, row) => row);
    const x = rows.map((row) => valuesOf(client, row));
    try {
      const session = rows.map((row) => [sessionOf(client, row)]);
      const { y } = await wires[client % 2]!.inferBatch({ session, x }, { requestId: `of ${client}` });
      const expected = x.map((row) => row.map((value) => value * 2));
      return (
        JSON.stringify(y!.toNested()) === JSON.stringify(expected) || `a wrong answer: ${JSON.stringify(y!.toNested())}`
      );
    } catch (error) {
      const { code, message } = TritonError.from(error);
      return `${code} ${message}`;
    }
  };
  try {
    const first = ask(0);
    await joined.began;
    const others = Array.from({ length: CLIENTS }, (_, index) => ask(index + 1));
    await queued(server, CLIENTS);
    joined.open();
    expect(await first).toBe(true);
    return await Promise.all(others);
  } finally {
    await Promise.all(wires.map((wire) => wire.close()));
  }
}

async function queued(server: RunningServer, count: number): Promise<void> {
  const deadline = performance.now() + WAIT_MILLISECONDS;
  for (;;) {
    const text = await (await fetch(server.metrics)).text();
    if (Number(/nv_inference_pending_request_count\{.*\} (\d+)/.exec(text)?.[1]) === count) return;
    if (performance.now() > deadline) throw new Error('the requests do not come');
  }
}

/** A callable whose first batch waits until all other requests are queued behind it. */
class Joined {
  readonly began: Promise<void>;
  readonly open: () => void;
  /** Sessions of each call. */
  readonly calls: string[][] = [];
  readonly infer: Infer;

  constructor(compute: Infer) {
    const began = gate();
    const opened = gate();
    this.began = began.opened;
    this.open = opened.open;
    this.infer = async (inputs, context) => {
      this.calls.push([...inputs.session.data]);
      began.open();
      await opened.opened;
      return compute(inputs, context);
    };
  }
}

const MODES = [{ serverThread: true }, { serverThread: false }] as const;
const others = Array.from({ length: CLIENTS }, (_, index) => index + 1 !== BAD || 'bad');

async function run(compute: Infer, config: ModelConfig<false>, mode: TritonConfig) {
  const joined = new Joined(compute);
  const logged: string[] = [];
  const note = (message: string) => void logged.push(message);
  const logger = { error: note, warn: note, info: note, debug: note };
  await using server = await startServer(
    (triton) => void triton.bind({ ...SPEC, config: { maxBatchSize: 256, ...config }, inferFunc: batch(joined.infer) }),
    { ...mode, logger },
  );
  const outcomes = await askAll(server, joined);
  const stats = (await (await fetch(`${server.http}/v2/models/Sessions/stats`)).json()) as {
    readonly model_stats: readonly [Record<string, unknown>];
  };
  return { outcomes, calls: joined.calls, logged, stats: stats.model_stats[0] };
}

describe.each(MODES)('one client with an unknown session among forty others, with %o', (mode) => {
  it('fails alone when the callable names its row', async () => {
    const { outcomes, calls } = await run(
      ({ session, x }, { failRow }) => {
        session.data.forEach((each, row) => {
          if (!isKnown(each)) failRow(row, new TritonError('NOT_FOUND', `unknown session '${each}'`));
        });
        return { y: x.map((value) => 2 * value) };
      },
      {},
      mode,
    );
    expect(calls).toHaveLength(2);
    expect(outcomes[BAD - 1]).toBe(`NOT_FOUND row ${BAD_ROW}: ${UNKNOWN}`);
    expect(outcomes.map((outcome, index) => (index === BAD - 1 ? 'bad' : outcome))).toEqual(others);
  });

  it("fails alone when an error stands in its row's place", async () => {
    const { outcomes, calls } = await run(
      ({ session, x }) => ({
        y: x.rows().map((row, index) => {
          const each = session.data[index]!;
          return isKnown(each)
            ? [...row.data].map((value) => 2 * value)
            : new TritonError('NOT_FOUND', `unknown session '${each}'`);
        }),
      }),
      {},
      mode,
    );
    expect(calls).toHaveLength(2);
    expect(outcomes[BAD - 1]).toBe(`NOT_FOUND row ${BAD_ROW}: ${UNKNOWN}`);
    expect(outcomes.map((outcome, index) => (index === BAD - 1 ? 'bad' : outcome))).toEqual(others);
  });

  const throwing: Infer = ({ session, x }) => {
    // Whoever computes in place: the next run must not see it.
    for (let i = 0; i < x.data.length; i++) x.data[i]! *= 2;
    const unknown = session.data.find((each) => !isKnown(each));
    if (unknown !== undefined) throw new TritonError('NOT_FOUND', `unknown session '${unknown}'`);
    return { y: x };
  };

  it('fails alone when the model asks that a failed batch be run again one request at a time', async () => {
    const { outcomes, calls, stats } = await run(throwing, { isolateFailures: true }, mode);
    expect(outcomes[BAD - 1]).toBe(`NOT_FOUND ${UNKNOWN}`);
    expect(outcomes.map((outcome, index) => (index === BAD - 1 ? 'bad' : outcome))).toEqual(others);
    expect(calls).toHaveLength(2 + CLIENTS);
    const rows = Array.from({ length: CLIENTS + 1 }, (_, client) => (client === BAD ? 0 : rowsOf(client)));
    expect(stats).toMatchObject({
      inference_count: rows.reduce((sum, count) => sum + count),
      execution_count: 2 + CLIENTS,
      inference_stats: { success: { count: CLIENTS }, fail: { count: 1 }, compute_infer: { count: CLIENTS } },
    });
  });

  it('fails its neighbours where no row is named, as in Triton', async () => {
    const { outcomes, logged } = await run(throwing, {}, mode);
    expect(new Set(outcomes)).toEqual(new Set([`NOT_FOUND ${UNKNOWN}`]));
    expect(logged.filter((line) => line.includes(SECRET))).toHaveLength(1);
  });

  it('fails its neighbours where no row is named, and they read nothing of it with maskErrors', async () => {
    const { outcomes } = await run(throwing, {}, { ...mode, maskErrors: true });
    for (const outcome of outcomes) expect(outcome).toMatch(/^NOT_FOUND internal error [-0-9a-f]{36}$/);
    expect(new Set(outcomes)).toHaveLength(CLIENTS);
  });
});
