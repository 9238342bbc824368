// Requests that are executed in steps, each in the next batch: over both wires, with the server's thread and without.
import { describe, expect, it, vi } from 'vitest';

import { batch, type SequenceEndReason, stream, type Triton, type TritonConfig, TritonError } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { startServer } from '../support/start-server.js';
import { POLL_MILLISECONDS, WAIT_MILLISECONDS } from '../support/waiting.js';

const INTEGER = { dtype: 'int32', shape: [1] } as const;
const MODES = [
  ['with a thread of its own', {}],
  ["in the user's thread", { serverThread: false }],
] as const satisfies readonly (readonly [string, TritonConfig])[];
const WAITING = { interval: POLL_MILLISECONDS, timeout: WAIT_MILLISECONDS };

class Count {
  made = 0;
}

interface Watched {
  /** The tags of each batch. */
  readonly batches: number[][];
  readonly ended: string[];
  /** Called in each execution, which waits for its promise. */
  before: (batch: readonly number[]) => void | Promise<void>;
}

const watched = (before: Watched['before'] = () => undefined): Watched => ({ batches: [], ended: [], before });

/** A model that answers `steps` times with the tag and the number of the answer; once, with the last one, when it is not decoupled. */
function bindCounting(triton: Triton, decoupled: boolean, seen: Watched): void {
  triton.bind({
    modelName: 'count',
    inputs: { tag: INTEGER, steps: INTEGER },
    outputs: { y: INTEGER },
    config: {
      maxBatchSize: 4,
      decoupled,
      sequenceBatching: {
        iterative: true,
        state: () => new Count(),
        onEnd: ({ made }: Count, reason: SequenceEndReason) => void seen.ended.push(`${made} ${reason}`),
      },
    },
    inferFunc: batch(async ({ tag, steps }, { sequences, reschedule, failRow }) => {
      seen.batches.push([...tag.data]);
      await seen.before([...tag.data]);
      const y = tag.map((value, row) => {
        const state = sequences[row]!.state as Count;
        state.made++;
        if (steps.data[row]! < 0 && state.made === -steps.data[row]!)
          failRow(row, new TritonError('NOT_FOUND', `lost ${value}`));
        else if (state.made < Math.abs(steps.data[row]!)) reschedule(row);
        return value * 100 + state.made;
      });
      return { y };
    }),
  });
}

const answersTo = (tag: number, steps: number) => Array.from({ length: steps }, (_, step) => tag * 100 + step + 1);

/** Waits until so many requests wait. */
async function pending(metrics: string, count: number): Promise<void> {
  await vi.waitFor(async () => {
    const text = await (await fetch(metrics)).text();
    expect(text).toMatch(
      new RegExp(`^nv_inference_pending_request_count\\{model="count",version="1"\\} ${count}$`, 'm'),
    );
  }, WAITING);
}

describe.each(MODES)('an iterative model %s', (_, config) => {
  it('lets requests join and leave its batches between steps', async () => {
    let begun = () => {};
    let goOn = () => {};
    const first = new Promise<void>((resolve) => (begun = resolve));
    const gate = new Promise<void>((resolve) => (goOn = resolve));
    const seen = watched(() => {
      begun();
      return gate;
    });
    await using server = await startServer((triton) => bindCounting(triton, false, seen), config);
    await using client = new ModelClient(server.http, 'count');
    const ask = async (tag: number, steps: number) =>
      (await client.inferSample({ tag: [tag], steps: [steps] })).y!.data[0];
    const long = ask(1, 4);
    await first;
    const others = [ask(2, 2), ask(3, 1)];
    await pending(server.metrics, 2);
    goOn();
    expect(await Promise.all([long, ...others])).toEqual([104, 202, 301]);
    const sorted = seen.batches.map((tags) => tags.sort((a, b) => a - b));
    expect(sorted).toEqual([[1], [1, 2, 3], [1, 2], [1]]);
    expect(seen.ended.sort()).toEqual(['1 ended', '2 ended', '4 ended']);
  });

  it('counts each execution of a request, as Triton does', async () => {
    await using server = await startServer((triton) => bindCounting(triton, false, watched()), config);
    await using client = new ModelClient(server.grpc, 'count');
    await client.inferSample({ tag: [1], steps: [5] });
    const response = await fetch(`${server.http}/v2/models/count/stats`);
    const { model_stats: stats } = (await response.json()) as { model_stats: Record<string, unknown>[] };
    expect(stats[0]).toMatchObject({
      inference_count: 5,
      execution_count: 5,
      inference_stats: { success: { count: 5 }, queue: { count: 5 }, fail: { count: 0 }, compute_infer: { count: 5 } },
    });
  });

  it.each(['http', 'grpc'] as const)('streams the answers of all steps over %s, each request its own', async (wire) => {
    const seen = watched();
    await using server = await startServer((triton) => bindCounting(triton, true, seen), config);
    await using client = new ModelClient(server[wire], 'count');
    const lengths = Array.from({ length: 24 }, (_, index) => 1 + ((index * 7) % 23));
    const all = await Promise.all(
      lengths.map(async (steps, tag) => {
        const answers: number[] = [];
        for await (const { y } of client.streamSample({ tag: [tag], steps: [steps] })) answers.push(Number(y!.data[0]));
        return answers;
      }),
    );
    expect(all).toEqual(lengths.map((steps, tag) => answersTo(tag, steps)));
    const steps = lengths.reduce((sum, each) => sum + each, 0);
    expect(seen.batches.flat().length).toBe(steps);
    expect(seen.ended.sort()).toEqual(lengths.map((each) => `${each} ended`).sort());
  });

  it('ends a request between two steps when its client has gone, and no other', async () => {
    const controller = new AbortController();
    let cancelled = () => {};
    const gone = new Promise<void>((resolve) => (cancelled = resolve));
    const seen: Watched = watched(async (tags) => {
      if (seen.batches.length < 3 || !tags.includes(1)) return;
      controller.abort();
      await gone;
    });
    await using server = await startServer((triton) => bindCounting(triton, true, seen), config);
    await using client = new ModelClient(server.grpc, 'count');
    const endless = (async () => {
      for await (const _answer of client.streamSample({ tag: [1], steps: [1e9] }, { signal: controller.signal }));
    })();
    const other = (async () => {
      const answers: number[] = [];
      for await (const { y } of client.streamSample({ tag: [2], steps: [40] })) answers.push(Number(y!.data[0]));
      return answers;
    })();
    await expect(endless).rejects.toThrow(/cancel|abort/i);
    await vi.waitFor(async () => {
      expect(await (await fetch(server.metrics)).text()).toMatch(/request_failure\{[^}]*CANCELED[^}]*\} 1$/m);
    }, WAITING);
    cancelled();
    expect(await other).toEqual(answersTo(2, 40));
    await vi.waitFor(() => expect(seen.ended.some((end) => end.endsWith(' cancelled'))).toBe(true), WAITING);
    expect(seen.batches.at(-1)).toEqual([2]);
  });

  it('fails the request whose step fails, and goes on with the others', async () => {
    await using server = await startServer((triton) => bindCounting(triton, false, watched()), config);
    await using client = new ModelClient(server.http, 'count');
    const ask = async (tag: number, steps: number) =>
      (await client.inferSample({ tag: [tag], steps: [steps] })).y!.data[0];
    const outcomes = await Promise.allSettled([ask(1, 6), ask(2, -3), ask(3, 9), ask(4, -1)]);
    expect(
      outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : String(outcome.reason))),
    ).toEqual([106, expect.stringContaining('lost 2'), 309, expect.stringContaining('lost 4')]);
  });

  it('runs the steps of a request before the next request of its sequence, also those of the last one', async () => {
    const seen = watched();
    await using server = await startServer((triton) => bindCounting(triton, false, seen), config);
    await using client = new ModelClient(server.grpc, 'count');
    const send = async (tag: number, steps: number, sequence: { start?: boolean; end?: boolean }) =>
      (await client.inferSample({ tag: [tag], steps: [steps] }, { sequence: { id: 'mine', ...sequence } })).y!.data[0];
    expect(await Promise.all([send(1, 3, { start: true }), send(2, 5, {}), send(3, 7, { end: true })])).toEqual([
      103, 205, 307,
    ]);
    expect(seen.batches).toEqual([[1], [1], [1], [2], [2], [3], [3]]);
    expect(seen.ended).toEqual(['7 ended']);
  });

  it('finishes what runs when the server stops', async () => {
    let begun = () => {};
    const first = new Promise<void>((resolve) => (begun = resolve));
    const server = await startServer(
      (triton) =>
        bindCounting(
          triton,
          false,
          watched(() => begun()),
        ),
      config,
    );
    await using client = new ModelClient(server.http, 'count');
    const answer = client.inferSample({ tag: [7], steps: [50] });
    await first;
    const stopped = server.triton.stop();
    expect((await answer).y!.data[0]).toBe(750);
    await stopped;
  });

  it('does not hold others up when a reader is slow', async () => {
    const WIDTH = 100_000;
    let steps = 0;
    await using server = await startServer((triton) => {
      triton.bind({
        modelName: 'wide',
        inputs: { steps: INTEGER },
        outputs: { y: { dtype: 'int32', shape: [WIDTH] } },
        config: { maxBatchSize: 2, decoupled: true, sequenceBatching: { iterative: true, state: () => new Count() } },
        inferFunc: stream(({ steps: wanted }, { sequence, reschedule }) => {
          const state = sequence!.state as Count;
          if (wanted.data[0]! > 1000) steps++;
          if (++state.made < wanted.data[0]!) reschedule();
          return { y: new Int32Array(WIDTH).fill(state.made) };
        }),
      });
    }, config);
    const response = await fetch(`${server.http}/v2/models/wide/generate_stream`, {
      method: 'POST',
      body: '{"steps":100000}',
    });
    await using client = new ModelClient(server.grpc, 'wide');
    const read: number[] = [];
    for await (const { y } of client.streamSample({ steps: [20] })) read.push(Number(y!.data[0]));
    expect(read).toEqual(answersTo(0, 20));
    // The other one runs into its reader, and waits there with little in memory.
    const counted = async () => {
      const before = steps;
      for await (const _answer of client.streamSample({ steps: [5] }));
      return steps - before;
    };
    await vi.waitFor(async () => expect(await counted()).toBe(0), WAITING);
    await response.body!.cancel();
  });

  it('says that only an iterative model can reschedule', async () => {
    await using server = await startServer((triton) => {
      triton.bind({
        modelName: 'plain',
        inputs: { x: INTEGER },
        outputs: { y: INTEGER },
        inferFunc: batch(({ x }, { reschedule }) => {
          reschedule(0);
          return { y: x };
        }),
      });
    }, config);
    await using client = new ModelClient(server.http, 'plain');
    await expect(client.inferSample({ x: [1] })).rejects.toThrow(
      "model 'plain' cannot reschedule: its config.sequenceBatching must have iterative: true",
    );
  });
});
