import { describe, expect, it, vi } from 'vitest';

import { answerInfer, answerJson, startHttp } from '../../test/support/fake-servers.js';
import { PROTOCOLS, startPlayed, type PlayedCall } from '../../test/support/played-server.js';
import { defineModel } from '../model/callable.js';
import type { ModelClientOptions } from './client-options.js';
import { TritonQueueFullError } from './client-errors.js';
import { ModelClient } from './model-client.js';

const double = defineModel({
  modelName: 'Double',
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
  config: { maxBatchSize: 2 },
});

/** Holds what comes until the test answers it. */
function holding() {
  const held: PlayedCall[] = [];
  return {
    held,
    play: (call: PlayedCall) => void held.push(call),
    async until(count: number) {
      await vi.waitFor(() => expect(held).toHaveLength(count));
    },
  };
}

function ask(
  client: ModelClient<(typeof double)['inputs'], (typeof double)['outputs']>,
  x: number,
  timeoutMs = 60_000,
) {
  return client.inferSample({ x: Float32Array.of(x) }, { timeoutMs });
}

describe.each(PROTOCOLS)('a client over %s', (protocol) => {
  const open = (url: string, options: ModelClientOptions) => new ModelClient(url, double, options);

  it('has so many calls under way, and begins the others in their order', async () => {
    const { held, play, until } = holding();
    await using server = await startPlayed(protocol, play);
    await using client = open(server.url, { maxConcurrency: 2 });
    const answers = [1, 2, 3, 4, 5].map((x) => ask(client, x));
    await until(2);
    held[1]!.answer();
    await answers[1];
    await until(3);
    expect(held.map(({ x }) => x[0])).toEqual(expect.arrayContaining([1, 2, 3]));
    held[0]!.answer();
    held[2]!.answer();
    await until(5);
    held[3]!.answer();
    held[4]!.answer();
    expect((await Promise.all(answers)).map(({ y }) => y!.data[0])).toEqual([1, 2, 3, 4, 5]);
  });

  it('rejects at once what finds its queue full, with an error of its own', async () => {
    const { held, play, until } = holding();
    await using server = await startPlayed(protocol, play);
    await using client = open(server.url, { maxConcurrency: 1, maxQueueSize: 1 });
    const [first, second] = [ask(client, 1), ask(client, 2)];
    const error = await ask(client, 3).catch((reason: unknown) => reason);
    expect(TritonQueueFullError.is(error)).toBe(true);
    expect(error).toMatchObject({
      name: 'TritonQueueFullError',
      code: 'UNAVAILABLE',
      message:
        "the client's queue is full: 1 calls are under way (maxConcurrency) and 1 wait for their turn (maxQueueSize)",
    });
    await until(1);
    held[0]!.answer();
    await first;
    const third = ask(client, 3);
    await until(2);
    held[1]!.answer();
    await second;
    await until(3);
    held[2]!.answer();
    await third;
  });

  it('lets calls wait until their deadline or their abort, and no longer', async () => {
    const { held, play, until } = holding();
    await using server = await startPlayed(protocol, play);
    await using client = open(server.url, { maxConcurrency: 1, maxQueueSize: 2 });
    const first = ask(client, 1);
    await until(1);
    const late = ask(client, 2, 10);
    const controller = new AbortController();
    const aborted = client.inferSample({ x: Float32Array.of(3) }, { signal: controller.signal });
    controller.abort();
    await expect(aborted).rejects.toMatchObject({ code: 'CANCELLED' });
    await expect(late).rejects.toMatchObject({
      name: 'TritonTimeoutError',
      message: `deadline of 10 ms exceeded for model 'Double' at ${server.url}: it waited for its turn: 1 calls are under way (maxConcurrency)`,
    });
    // They have left the queue.
    const others = [ask(client, 4), ask(client, 5)];
    held[0]!.answer();
    await first;
    await until(2);
    held[1]!.answer();
    await until(3);
    held[2]!.answer();
    expect((await Promise.all(others)).map(({ y }) => y!.data[0])).toEqual([4, 5]);
  });

  it('gives the turn on when a call fails or is left', async () => {
    const { held, play, until } = holding();
    await using server = await startPlayed(protocol, play);
    await using client = open(server.url, { maxConcurrency: 1 });
    const failing = ask(client, 1);
    await until(1);
    held[0]!.fail('no');
    await expect(failing).rejects.toThrow('no');
    const controller = new AbortController();
    const aborted = client.inferSample({ x: Float32Array.of(2) }, { signal: controller.signal });
    const next = ask(client, 3);
    await until(2);
    controller.abort();
    await expect(aborted).rejects.toMatchObject({ code: 'CANCELLED' });
    await until(3);
    held[2]!.answer();
    expect((await next).y!.data[0]).toBe(3);
  });

  it('cancels what waits when it closes', async () => {
    const { play, until } = holding();
    await using server = await startPlayed(protocol, play);
    await using client = open(server.url, { maxConcurrency: 1 });
    const calls = [ask(client, 1), ask(client, 2)];
    const outcomes = Promise.allSettled(calls);
    await until(1);
    await client.close();
    for (const outcome of await outcomes) expect(outcome).toMatchObject({ reason: { code: 'CANCELLED' } });
  });

  describe('with a batch of more rows than the model takes', () => {
    const x = [[1], [2], [3], [4], [5]];

    it('sends it in parts when asked, and joins the answers in order', async () => {
      const { held, play, until } = holding();
      await using server = await startPlayed(protocol, play);
      await using client = open(server.url, { maxConcurrency: 2 });
      const batch = client.inferBatch({ x }, { chunk: true, requestId: 'r' });
      await until(2);
      held[1]!.answer();
      await until(3);
      held[2]!.answer();
      held[0]!.answer();
      const { y } = await batch;
      expect(y!.toNested()).toEqual(x);
      expect(held.map((call) => [call.x[0], call.shape[0]])).toEqual(
        expect.arrayContaining([
          [1, 2],
          [3, 2],
          [5, 1],
        ]),
      );
    });

    it('fails as a whole, saying which rows failed, and cancels the rest', async () => {
      const { held, play, until } = holding();
      await using server = await startPlayed(protocol, play);
      await using client = open(server.url, {});
      const batch = client.inferBatch({ x }, { chunk: true });
      await until(3);
      const [second, others] = [held.find((call) => call.x[0] === 3)!, held.filter((call) => call.x[0] !== 3)];
      second.fail('no such row');
      await expect(batch).rejects.toMatchObject({ code: 'INVALID_ARG', message: 'rows 2 to 3 of 5: no such row' });
      await Promise.all(others.map(({ left }) => left));
    });

    it('is aborted as a whole, by its signal and its deadline', async () => {
      const { held, play, until } = holding();
      await using server = await startPlayed(protocol, play);
      await using client = open(server.url, { maxConcurrency: 2 });
      const controller = new AbortController();
      const aborted = client.inferBatch({ x }, { chunk: true, signal: controller.signal });
      await until(2);
      controller.abort();
      await expect(aborted).rejects.toMatchObject({ code: 'CANCELLED' });
      await Promise.all(held.map(({ left }) => left));
      await expect(client.inferBatch({ x }, { chunk: true, timeoutMs: 20 })).rejects.toMatchObject({
        name: 'TritonTimeoutError',
        message: expect.stringContaining('deadline of 20 ms exceeded') as string,
      });
    });

    it('is told when a part is answered with other rows than it has', async () => {
      await using server = await startPlayed(protocol, (call) => call.answer(Float32Array.of(0), [1, 1]));
      await using client = open(server.url, {});
      await expect(client.inferBatch({ x }, { chunk: true })).rejects.toMatchObject({
        code: 'INTERNAL',
        message: "output 'y' of model 'Double' has shape [1,1] for a chunk of 2 rows, and cannot be joined",
      });
    });

    it('sends it whole without the option, and takes the option for batches only', async () => {
      const shapes: (number | undefined)[] = [];
      await using server = await startPlayed(protocol, (call) => {
        shapes.push(call.shape[0]);
        call.answer();
      });
      await using client = open(server.url, {});
      await client.inferBatch({ x });
      await client.inferBatch({ x: [[1], [2]] }, { chunk: true });
      expect(shapes).toEqual([5, 2]);
      await expect(client.inferSample({ x: [1] }, { chunk: true } as never)).rejects.toMatchObject({
        code: 'INVALID_ARG',
        message: expect.stringContaining("options of an inference has an unknown option 'chunk'") as string,
      });
      await expect(client.inferBatch({ x }, { chunk: true, sequence: { id: 1 } })).rejects.toMatchObject({
        code: 'INVALID_ARG',
      });
    });
  });
});

describe('the limits of a client', () => {
  it.each([
    [{ maxConcurrency: 0 }, 'maxConcurrency must be an integer >= 1 or Infinity, got 0'],
    [{ maxConcurrency: 1.5 }, 'maxConcurrency must be an integer >= 1 or Infinity, got 1.5'],
    [{ maxQueueSize: -1 }, 'maxQueueSize must be an integer >= 0 or Infinity, got -1'],
    [{ maxQueueSize: '9' }, 'maxQueueSize must be an integer >= 0 or Infinity, got "9"'],
    [{ maxResponseBytes: 0 }, 'maxResponseBytes must be an integer from 1 to 2147483647, got 0'],
  ])('are refused when they are %j', (options, message) => {
    expect(() => new ModelClient('localhost', double, options as never)).toThrow(message);
  });

  it('leave out the question for the configuration, for which the one call under way waits', async () => {
    const tensor = { data_type: 'TYPE_FP32', dims: [-1] };
    const config = {
      name: 'Double',
      max_batch_size: 2,
      input: [{ ...tensor, name: 'x' }],
      output: [{ ...tensor, name: 'y' }],
    };
    await using server = await startHttp((request, response) => {
      if (request.method === 'GET') answerJson(response, 200, config);
      else answerInfer(response, [{ name: 'y', datatype: 'FP32', shape: [1, 1], bytes: new Uint8Array(4) }]);
    });
    await using client = new ModelClient(server.authority, 'Double', { maxConcurrency: 1, maxQueueSize: 0 });
    expect((await client.inferSample([[1]]))['y']!.data).toEqual(Float32Array.of(0));
  });

  it('may have no queue at all', async () => {
    const { play, until, held } = holding();
    await using server = await startPlayed('http', play);
    await using client = new ModelClient(server.url, double, { maxConcurrency: 1, maxQueueSize: 0 });
    const first = ask(client, 1);
    await until(1);
    await expect(ask(client, 2)).rejects.toMatchObject({ name: 'TritonQueueFullError' });
    held[0]!.answer();
    await first;
  });
});
