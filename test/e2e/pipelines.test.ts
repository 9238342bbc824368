// Models that call other models of the server.
import { getEventListeners } from 'node:events';

import { describe, expect, it } from 'vitest';

import { batch, defineModel, type ModelCallOptions, sample, stream, Tensor, type Triton, TritonError } from 'tstriton';

import { POLL_MILLISECONDS, WAIT_MILLISECONDS } from '../support/waiting.js';
import { gate, inferJson, startServer } from '../support/start-server.js';

const number = defineModel({
  modelName: 'Number',
  inputs: { x: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
  config: { maxBatchSize: 8 },
});
type Gate = ReturnType<typeof gate<void>>;

const ONE = [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }];

function bindCaller(triton: Triton, modelName: string, called: string): void {
  triton.bind({
    ...number,
    modelName,
    inferFunc: batch(async ({ x }, { models }) => {
      const { y } = await models[called]!.infer(
        { x: x.map((value) => value + 1) },
        { parameters: { from: modelName } },
      );
      return { y: y as Tensor<'float32'> };
    }),
  });
}

/** A model `Inner` that answers when its client is gone. */
function bindWaiting(triton: Triton, { started, aborted }: Readonly<Record<'started' | 'aborted', Gate>>): void {
  triton.bind({
    ...number,
    modelName: 'Inner',
    inferFunc: async (requests) => {
      started.open();
      await new Promise((resolve) => requests[0]!.signal.addEventListener('abort', resolve));
      aborted.open();
      return requests;
    },
  });
}

describe.each([{ serverThread: true }, { serverThread: false }])('a pipeline with %o', ({ serverThread }) => {
  it('calls a model for each of many rows, with one listener on the signal of its batch', async () => {
    const listeners: number[] = [];
    await using server = await startServer(
      (triton) => {
        triton.bind({
          ...number,
          modelName: 'Inner',
          config: { maxBatchSize: 64 },
          inferFunc: batch(({ x }) => ({ y: x.map((value) => 3 * value) })),
        });
        triton.bind({
          ...number,
          modelName: 'Outer',
          config: { maxBatchSize: 64 },
          inferFunc: (requests, { models, signal }) =>
            requests.map(({ inputs: { x } }) => {
              const rows = Array.from(x.data, async (value) => {
                const called = models['Inner']!.infer({ x: new Tensor('float32', Float32Array.of(value), [1, 1]) });
                listeners.push(getEventListeners(signal, 'abort').length);
                return (await called)['y']!.data[0] as number;
              });
              return Promise.all(rows).then((data) => ({ y: new Tensor('float32', Float32Array.from(data), x.shape) }));
            }),
        });
      },
      { serverThread },
    );
    const data = Array.from({ length: 40 }, (_, i) => i);
    const inputs = [{ name: 'x', datatype: 'FP32', shape: [40, 1], data }];
    expect((await inferJson(server.http, 'Outer', inputs)).outputs[0]!.data).toEqual(data.map((value) => 3 * value));
    expect(listeners).toHaveLength(40);
    expect(Math.max(...listeners)).toBeLessThanOrEqual(1);
  });

  it('runs through the batcher and the statistics of the model it calls', async () => {
    const seen: unknown[] = [];
    await using server = await startServer(
      (triton) => {
        triton.bind({
          ...number,
          modelName: 'Inner',
          inferFunc: (requests) =>
            requests.map(
              ({ inputs, parameters }) => (seen.push(parameters), { y: inputs.x.map((value) => value * 10) }),
            ),
        });
        bindCaller(triton, 'Outer', 'Inner');
      },
      { serverThread },
    );
    expect((await inferJson(server.http, 'Outer', ONE)).outputs[0]!.data).toEqual([20]);
    expect(seen).toEqual([{ from: 'Outer' }]);
    const stats = (await (await fetch(`${server.http}/v2/models/Inner/stats`)).json()) as {
      model_stats: { inference_count: number }[];
    };
    expect(stats.model_stats[0]!.inference_count).toBe(1);
  });

  it('carries strings and the failure of the model it calls', async () => {
    await using server = await startServer(
      (triton) => {
        triton.bind({
          modelName: 'Shout',
          inputs: { s: { dtype: 'string', shape: [1] } },
          outputs: { t: { dtype: 'string', shape: [1] } },
          inferFunc: batch(({ s }) => {
            if (s.data[0] === '') throw new Error('nothing to shout');
            return { t: s.map((text) => text.toUpperCase()) };
          }),
        });
        triton.bind({
          modelName: 'Polite',
          inputs: { s: { dtype: 'string', shape: [1] } },
          outputs: { t: { dtype: 'string', shape: [1] } },
          inferFunc: batch(async ({ s }, { models }) => {
            const { t } = await models['Shout']!.infer({ s });
            return { t: t!.strings().map((text) => [`${text}, please`]) };
          }),
        });
      },
      { serverThread },
    );
    const ask = (text: string) =>
      inferJson(server.http, 'Polite', [{ name: 's', datatype: 'BYTES', shape: [1, 1], data: [text] }]);
    expect((await ask('grüße')).outputs[0]!.data).toEqual(['GRÜSSE, please']);
    expect(await ask('')).toMatchObject({ status: 500, error: 'nothing to shout' });
  });

  it('refuses a circle instead of waiting for ever', async () => {
    await using server = await startServer(
      (triton) => {
        bindCaller(triton, 'A', 'B');
        bindCaller(triton, 'B', 'C');
        bindCaller(triton, 'C', 'A');
      },
      { serverThread },
    );
    expect(await inferJson(server.http, 'A', ONE)).toMatchObject({
      status: 500,
      error: 'models call each other in a circle: A → B → C → A',
    });
  });

  it('fails when it calls a model that is not there: to its client that is no unknown model', async () => {
    await using server = await startServer((triton) => bindCaller(triton, 'Lost', 'Nowhere'), { serverThread });
    expect(await inferJson(server.http, 'Lost', ONE)).toMatchObject({
      status: 500,
      error: "model 'Lost' cannot call model 'Nowhere': Request for unknown model: 'Nowhere' is not found",
    });
  });

  it('calls other models to its end when the server stops', async () => {
    const begun = gate();
    const release = gate();
    const server = await startServer(
      (triton) => {
        triton.bind({ ...number, modelName: 'Inner', inferFunc: (requests) => requests });
        triton.bind({
          ...number,
          modelName: 'Outer',
          inferFunc: batch(async ({ x }, { models }) => {
            begun.open();
            await release.opened;
            const { y } = await models['Inner']!.infer({ x });
            return { y: y as Tensor<'float32'> };
          }),
        });
      },
      { serverThread },
    );
    const answer = inferJson(server.http, 'Outer', ONE);
    await begun.opened;
    const stopped = server.triton.stop();
    // The server takes connections no more: it waits for what is under way.
    await expect.poll(() => inferJson(server.http, 'Inner', ONE).then(String, String)).toMatch(/fetch failed/);
    release.open();
    expect(await answer).toMatchObject({ status: 200, outputs: [{ data: [1] }] });
    await stopped;
  });

  it('cancels the model it called when its own client is gone', async () => {
    const started = gate();
    const aborted = gate();
    await using server = await startServer(
      (triton) => {
        bindWaiting(triton, { started, aborted });
        bindCaller(triton, 'Outer', 'Inner');
      },
      { serverThread },
    );
    const hangUp = new AbortController();
    const asked = fetch(`${server.http}/v2/models/Outer/infer`, {
      method: 'POST',
      body: JSON.stringify({ inputs: ONE }),
      signal: hangUp.signal,
    });
    await started.opened;
    hangUp.abort();
    await expect(asked).rejects.toThrow('aborted');
    await aborted.opened;
  });

  it.each(['its own client', 'a signal of its own'])(
    'cancels the model it called with either of two: %s',
    async (whose) => {
      const started = gate();
      const aborted = gate();
      const own = new AbortController();
      await using server = await startServer(
        (triton) => {
          bindWaiting(triton, { started, aborted });
          triton.bind({
            ...number,
            modelName: 'Outer',
            inferFunc: batch(async ({ x }, { models }) => {
              const { y } = await models['Inner']!.infer({ x }, { signal: own.signal });
              return { y: y as Tensor<'float32'> };
            }),
          });
        },
        { serverThread },
      );
      const hangUp = new AbortController();
      const asked = fetch(`${server.http}/v2/models/Outer/infer`, {
        method: 'POST',
        body: JSON.stringify({ inputs: ONE }),
        signal: hangUp.signal,
      }).then(
        ({ status }) => status,
        () => 'gone',
      );
      await started.opened;
      if (whose === 'its own client') hangUp.abort();
      else own.abort();
      await aborted.opened;
      expect(await asked).toBe(whose === 'its own client' ? 'gone' : 400);
    },
  );

  it('cancels what it called for one request of a stream whose client is gone, and for no other', async () => {
    const started = [gate(), gate()];
    const aborted = gate<number>();
    const release = gate();
    await using server = await startServer(
      (triton) => {
        triton.bind({
          ...number,
          modelName: 'Inner',
          config: { maxBatchSize: 1, concurrency: 2 },
          inferFunc: async (requests) => {
            const { inputs, signal } = requests[0]!;
            const value = inputs.x.data[0]!;
            signal.addEventListener('abort', () => aborted.open(value));
            started[value]!.open();
            await (value === 0 ? aborted.opened : release.opened);
            return requests;
          },
        });
        triton.bind({
          ...number,
          modelName: 'Stream',
          config: { decoupled: true, batcher: { preferredBatchSize: [2], maxQueueDelayMicroseconds: 3_600_000_000 } },
          inferFunc: stream(async function* ({ x }, { models }) {
            const { y } = await models['Inner']!.infer({ x });
            yield { y: y as Tensor<'float32'> };
          }),
        });
      },
      { serverThread },
    );
    const ask = (x: number, signal?: AbortSignal) =>
      fetch(`${server.http}/v2/models/Stream/generate_stream`, {
        method: 'POST',
        body: JSON.stringify({ x }),
        ...(signal && { signal }),
      });
    const hangUp = new AbortController();
    const gone = ask(0, hangUp.signal).catch(() => 'gone');
    const other = ask(1);
    await Promise.all(started.map(({ opened }) => opened));
    hangUp.abort();
    expect(await aborted.opened).toBe(0);
    release.open();
    expect(await (await other).text()).toContain('"y":1');
    await gone;
  });

  it('streams the responses of a decoupled model on, as they come', async () => {
    const second = gate();
    await using server = await startServer(
      (triton) => {
        triton.bind({
          ...number,
          modelName: 'Count',
          config: { decoupled: true },
          inferFunc: stream(async function* ({ x }) {
            for (let i = 0; i < x.data[0]!; i++) {
              if (i === 1) await second.opened;
              yield { y: [[i]] };
            }
          }),
        });
        triton.bind({
          ...number,
          modelName: 'Tens',
          config: { decoupled: true },
          inferFunc: stream(async function* ({ x }, { modelOf }) {
            for await (const { y } of modelOf({ ...number, modelName: 'Count' }).stream({ x })) {
              yield { y: y!.map((value) => value * 10) };
            }
          }),
        });
      },
      { serverThread },
    );
    const ask = (x: number) =>
      fetch(`${server.http}/v2/models/Tens/generate_stream`, { method: 'POST', body: JSON.stringify({ x }) });
    const events = (await ask(3)).body!.pipeThrough(new TextDecoderStream()).getReader();
    // The first is here before the second is computed.
    expect((await events.read()).value).toContain('"y":0.0');
    second.open();
    let rest = '';
    for (let next = await events.read(); !next.done; next = await events.read()) rest += next.value;
    expect(rest.match(/"y":\d+/g)).toEqual(['"y":10', '"y":20']);
    expect(await (await ask(0)).text()).toBe('');
  });

  it('streams the only response of a model that answers once, and the failure of one that fails', async () => {
    await using server = await startServer(
      (triton) => {
        triton.bind({
          ...number,
          modelName: 'Inner',
          inferFunc: batch(({ x }) => {
            if (x.data[0] === 0) throw new Error('nothing to do');
            return { y: x };
          }),
        });
        triton.bind({
          ...number,
          modelName: 'Outer',
          inferFunc: batch(async ({ x }, { models }) => {
            const all: number[] = [];
            for await (const { y } of models['Inner']!.stream({ x })) all.push(y!.data[0] as number);
            return { y: [[all.length]] };
          }),
        });
      },
      { serverThread },
    );
    expect((await inferJson(server.http, 'Outer', ONE)).outputs[0]!.data).toEqual([1]);
    const nothing = await inferJson(server.http, 'Outer', [{ ...ONE[0]!, data: [0] }]);
    expect(nothing).toMatchObject({ status: 500, error: 'nothing to do' });
  });

  it('refuses to infer with a decoupled model, naming the way to call it', async () => {
    await using server = await startServer(
      (triton) => {
        triton.bind({
          ...number,
          modelName: 'Count',
          config: { decoupled: true },
          inferFunc: stream(function* ({ x }) {
            yield { y: x };
          }),
        });
        bindCaller(triton, 'Outer', 'Count');
      },
      { serverThread },
    );
    expect(await inferJson(server.http, 'Outer', ONE)).toMatchObject({
      status: 500,
      error:
        "model 'Outer' cannot call model 'Count': model 'Count' is decoupled, so that 'infer' cannot tell how many responses come; call 'stream'",
    });
  });

  it('makes the generator it calls wait for a slow loop, and ends it when the loop is left', async () => {
    let yielded = 0;
    const ended = gate();
    const slow = gate();
    await using server = await startServer(
      (triton) => {
        triton.bind({
          ...number,
          modelName: 'Endless',
          config: { decoupled: true },
          inferFunc: stream(async function* () {
            try {
              for (;;) {
                yield { y: [[yielded++]] };
                await new Promise((resolve) => setImmediate(resolve));
              }
            } finally {
              ended.open();
            }
          }),
        });
        triton.bind({
          ...number,
          modelName: 'Outer',
          inferFunc: batch(async ({ x }, { models }) => {
            let last = 0;
            for await (const { y } of models['Endless']!.stream({ x })) {
              await slow.opened;
              last = y!.data[0] as number;
              if (last === 3) break;
            }
            return { y: [[last]] };
          }),
        });
      },
      { serverThread },
    );
    const answer = inferJson(server.http, 'Outer', ONE);
    // Nobody takes any until it stands still, which it does long before so many.
    const many = 1000;
    for (let still = 0, seen = -1; still < 500 && yielded < many; seen = yielded) {
      await new Promise((resolve) => setImmediate(resolve));
      still = yielded > 0 && yielded === seen ? still + 1 : 0;
    }
    expect(yielded).toBeLessThan(many);
    slow.open();
    expect((await answer).outputs[0]!.data).toEqual([3]);
    await ended.opened;
  });

  it('keeps the answers of the model it calls in that model’s cache', async () => {
    let computed = 0;
    await using server = await startServer(
      (triton) => {
        triton.bind({
          ...number,
          modelName: 'Inner',
          config: { responseCache: true },
          inferFunc: batch(({ x }) => (computed++, { y: x })),
        });
        bindCaller(triton, 'Outer', 'Inner');
      },
      { serverThread, responseCacheByteSize: 1_000_000 },
    );
    // Three: the second is the first that comes from the cache, and must not take it away.
    for (let i = 0; i < 3; i++) {
      expect((await inferJson(server.http, 'Outer', ONE)).outputs[0]!.data).toEqual([2]);
    }
    expect(computed).toBe(1);
  });

  it.each([
    [undefined, {}, "inputs for model 'Inner' must be an object, got undefined"],
    [{ x: [[1]] }, {}, "input 'x' for model 'Inner' must be a Tensor, got object"],
    [
      { x: new Tensor('string', [undefined as unknown as string]) },
      {},
      "input 'x' for model 'Inner' has element 0 that is undefined, expected a string",
    ],
    [{}, { singal: 1 }, "a call of model 'Inner' has an unknown option 'singal'; did you mean 'signal'?"],
  ])('refuses inputs %o with options %o', async (inputs, options, error) => {
    await using server = await startServer(
      (triton) =>
        triton.bind({
          ...number,
          modelName: 'Outer',
          inferFunc: async (requests, { models }) => {
            await models['Inner']!.infer(inputs as never, options as ModelCallOptions);
            return requests;
          },
        }),
      { serverThread },
    );
    expect(await inferJson(server.http, 'Outer', ONE)).toMatchObject({ status: 500, error });
  });

  it.each([
    ['of another shape', [[1, 2]], 'float32', 'unexpected shape for input'],
    ['of another dtype', [[1]], 'int32', "data-type is 'INT32', but model 'Inner' expects 'FP32'"],
  ] as const)(
    'answers its own client INTERNAL when it calls a model with an input %s',
    async (_, values, dtype, reason) => {
      await using server = await startServer(
        (triton) => {
          triton.bind({ ...number, modelName: 'Inner', inferFunc: batch(({ x }) => ({ y: x })) });
          triton.bind({
            ...number,
            modelName: 'Outer',
            inferFunc: async (requests, { models }) => {
              await models['Inner']!.infer({ x: Tensor.from(dtype, values as never) });
              return requests;
            },
          });
        },
        { serverThread },
      );
      const { status, error } = await inferJson(server.http, 'Outer', ONE);
      expect([status, error]).toEqual([500, expect.stringContaining("model 'Outer' cannot call model 'Inner': ")]);
      expect(error).toContain(reason);
    },
  );

  it('answers INTERNAL too when what is inside of an input is wrong', async () => {
    const text = {
      inputs: { s: { dtype: 'string', shape: [1] } },
      outputs: { t: { dtype: 'bytes', shape: [1] } },
    } as const;
    await using server = await startServer(
      (triton) => {
        triton.bind({ ...text, modelName: 'Inner', inferFunc: batch(() => ({ t: [['never']] })) });
        triton.bind({
          ...text,
          modelName: 'Outer',
          inferFunc: batch(async (_, { models }) => {
            const { t } = await models['Inner']!.infer({ s: Tensor.from('bytes', [[Uint8Array.of(0xff)]]) });
            return { t: t as Tensor<'bytes'> };
          }),
        });
      },
      { serverThread },
    );
    const asked = await inferJson(server.http, 'Outer', [{ name: 's', datatype: 'BYTES', shape: [1, 1], data: ['a'] }]);
    expect([asked.status, asked.error]).toEqual([
      500,
      expect.stringMatching(/^model 'Outer' cannot call model 'Inner': .* not valid UTF-8/),
    ]);
  });

  it('passes on what the model that it calls says of its input', async () => {
    await using server = await startServer(
      (triton) => {
        triton.bind({
          ...number,
          modelName: 'Inner',
          inferFunc: () => {
            throw new TritonError('INVALID_ARG', 'x is too large');
          },
        });
        bindCaller(triton, 'Outer', 'Inner');
      },
      { serverThread },
    );
    expect(await inferJson(server.http, 'Outer', ONE)).toMatchObject({ status: 400, error: 'x is too large' });
  });

  it('calls models as urgently as it was asked, unless it says otherwise', async () => {
    const seen: Record<string, unknown> = {};
    await using server = await startServer(
      (triton) => {
        triton.bind({
          ...number,
          modelName: 'Inner',
          inferFunc: (requests) =>
            requests.map(({ inputs, parameters, priority, timeoutMicroseconds }) => {
              seen[parameters['call'] as string] = [priority, timeoutMicroseconds];
              return { y: inputs.x };
            }),
        });
        triton.bind({
          ...number,
          modelName: 'Outer',
          config: { maxBatchSize: 1 },
          inferFunc: sample(async ({ x }, { models, requests }) => {
            const { priority, timeoutMicroseconds, parameters } = requests[0]!;
            const call = parameters['call'] as string;
            seen[`${call} itself`] = [priority, timeoutMicroseconds];
            const inner = { x: x.reshape([1, 1]) };
            await models['Inner']!.infer(inner, { parameters: { call: `${call} same` } });
            await models['Inner']!.infer(inner, {
              parameters: { call: `${call} other` },
              priority: 1,
              timeoutMicroseconds: 0,
            });
            return { y: x };
          }),
        });
      },
      { serverThread },
    );
    const urgencies = [{ priority: 3, timeout: 5_000_000 }, { priority: 2 }, { timeout: 7_000_000 }, {}];
    await Promise.all(
      urgencies.map((urgency, i) => inferJson(server.http, 'Outer', ONE, { parameters: { ...urgency, call: `${i}` } })),
    );
    const expected = [
      [3, 5_000_000],
      [2, 0],
      [0, 7_000_000],
      [0, 0],
    ].flatMap((own, i) => [
      [`${i} itself`, own],
      [`${i} same`, own],
      [`${i} other`, [1, 0]],
    ]);
    expect(seen).toEqual(Object.fromEntries(expected as [string, unknown][]));
  });

  it('answers in the order of priorities, as a direct call does', async () => {
    const [begun, held] = [gate(), gate()];
    const order: number[] = [];
    await using server = await startServer(
      (triton) => {
        triton.bind({
          ...number,
          modelName: 'Inner',
          config: { maxBatchSize: 1, batcher: { priorityLevels: 4, defaultPriorityLevel: 4 } },
          inferFunc: async ([request]) => {
            begun.open();
            await held.opened;
            order.push(request!.priority);
            return [{ y: request!.inputs.x }];
          },
        });
        triton.bind({
          ...number,
          modelName: 'Outer',
          config: { batcher: null, concurrency: 8 },
          inferFunc: async ([request], { models }) => {
            const { y } = await models['Inner']!.infer({ x: request!.inputs.x });
            return [{ y: y as Tensor<'float32'> }];
          },
        });
      },
      { serverThread },
    );
    const waiting = async () =>
      Number(
        /nv_inference_pending_request_count\{model="Inner"[^}]*\} (\d+)/.exec(
          await (await fetch(server.metrics)).text(),
        )?.[1],
      );
    const asked = [inferJson(server.http, 'Outer', ONE)];
    await begun.opened;
    for (const [index, priority] of [4, 2, 3, 1].entries()) {
      asked.push(inferJson(server.http, 'Outer', ONE, { parameters: { priority } }));
      await expect.poll(waiting, { interval: POLL_MILLISECONDS, timeout: WAIT_MILLISECONDS }).toBe(index + 1);
    }
    held.open();
    await Promise.all(asked);
    expect(order).toEqual([0, 1, 2, 3, 4]);
  });
});
