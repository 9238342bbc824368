// Triton's L0_generate: the generate extension, for ordinary and decoupled models.
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';

import { describe, expect, it } from 'vitest';

import { batch, stream, TritonError, type Triton } from 'tstriton';

import { expectAlive, post } from '../support/http-infer.js';
import { gate, pendingRequests, startServer } from '../support/start-server.js';

const TEXT = { dtype: 'string', shape: [1] } as const;
const NUMBER = { dtype: 'int32', shape: [1] } as const;

function bind(triton: Triton): void {
  triton.bind({
    modelName: 'upper',
    inferFunc: (requests) =>
      requests.map(({ inputs: { text_input }, parameters }) => ({
        text_output: text_input.data.map((text) => {
          if (text === 'fail') throw new TritonError('NOT_FOUND', 'no such text');
          return `${text.toUpperCase()}${String(parameters['suffix'] ?? '')}`;
        }),
      })),
    inputs: { text_input: TEXT },
    outputs: { text_output: TEXT },
    config: { maxBatchSize: 4 },
  });
  triton.bind({
    modelName: 'words',
    inferFunc: stream(async function* ({ text_input }) {
      for (const word of text_input.data[0]!.split(' ')) {
        if (word === 'fail') throw new TritonError('UNAVAILABLE', 'out of words');
        await Promise.resolve();
        if (word !== '') yield { text_output: [word] };
      }
    }),
    inputs: { text_input: TEXT },
    outputs: { text_output: TEXT },
    config: { batching: false, decoupled: true },
  });
}

const ask = (http: string, model: string, body: object, action = 'generate') =>
  post(http, model, JSON.stringify(body), { action });
const event = (model: string, text: string) =>
  `data: {"model_name":"${model}","model_version":"1","text_output":"${text}"}\n\n`;

describe.each([{ serverThread: true }, { serverThread: false }])('L0_generate with %o', (config) => {
  it('answers flat JSON, with parameters and id', async () => {
    await using server = await startServer(bind, config);
    const { status, text } = await ask(server.http, 'upper', {
      text_input: 'hé',
      id: '42',
      suffix: '!',
      parameters: { more: 1 },
    });
    expect([status, text]).toEqual([200, '{"id":"42","model_name":"upper","model_version":"1","text_output":"HÉ!"}']);
    const two = await ask(server.http, 'upper', { text_input: ['a', 'b'] });
    expect(two.text).toContain('"text_output":["A","B"]');
  });

  it('streams one event for an ordinary model, and each word of a decoupled one', async () => {
    await using server = await startServer(bind, config);
    const one = await ask(server.http, 'upper', { text_input: 'a' }, 'generate_stream');
    expect([one.status, one.headers.get('content-type'), one.text]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
      event('upper', 'A'),
    ]);
    const three = await ask(server.http, 'words', { text_input: 'one two three' }, 'generate_stream');
    expect(three.text).toBe(['one', 'two', 'three'].map((word) => event('words', word)).join(''));
    const none = await ask(server.http, 'words', { text_input: '' }, 'generate_stream');
    expect([none.status, none.text]).toEqual([200, '']);
  });

  it('keeps the order of answers of very different sizes', async () => {
    const sizes = [3_000_000, 10, 2_000_000, 10, 10, 4_000_000, 10];
    const texts = Array.from({ length: 4 * sizes.length }, (_, i) => String(i).padEnd(sizes[i % sizes.length]!, '.'));
    const sized = (triton: Triton) =>
      void triton.bind({
        modelName: 'sized',
        inferFunc: stream(function* () {
          for (const text of texts) yield { text_output: [text] };
        }),
        inputs: { text_input: TEXT },
        outputs: { text_output: TEXT },
        config: { batching: false, decoupled: true },
      });
    await using server = await startServer(sized, config);
    const { text } = await ask(server.http, 'sized', { text_input: '' }, 'generate_stream');
    const events = text.split('\n\n').slice(0, -1);
    const numbers = events.map((each) => Number(/"text_output":"(\d+)/.exec(each)?.[1]));
    expect(numbers).toEqual(Array.from(texts.keys()));
    expect(text === texts.map((each) => event('sized', each)).join('')).toBe(true);
  });

  it('wants exactly one response for generate', async () => {
    await using server = await startServer(bind, config);
    expect((await ask(server.http, 'words', { text_input: 'one' })).text).toContain('"text_output":"one"');
    for (const text_input of ['', 'one two', 'one two three four five']) {
      const { status, json } = await ask(server.http, 'words', { text_input });
      expect([status, json.error]).toEqual([
        400,
        'generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses',
      ]);
    }
    await expectAlive(server.http);
  });

  it('tells of errors with the status of their code, and in the stream once it has begun', async () => {
    await using server = await startServer(bind, config);
    const plain = await ask(server.http, 'upper', { text_input: 'fail' });
    expect([plain.status, plain.text]).toEqual([404, '{"error":"no such text"}']);
    const first = await ask(server.http, 'words', { text_input: 'fail' }, 'generate_stream');
    expect([first.status, first.text]).toEqual([503, 'data: {"error":"out of words"}\n\n']);
    const later = await ask(server.http, 'words', { text_input: 'one fail' }, 'generate_stream');
    expect([later.status, later.text]).toEqual([200, `${event('words', 'one')}data: {"error":"out of words"}\n\n`]);
  });

  it.each(['generate', 'generate_stream'])('refuses in %s what it cannot map', async (action) => {
    await using server = await startServer(bind, config);
    for (const [body, status, error] of [
      ['{}', 400, /expected 1 inputs but got 0 inputs for model 'upper'/],
      ['{"text_input":1}', 400, /attempt to access JSON non-string as string/],
      ['{"text_input":"a","stop":["b"]}', 400, /parameter 'stop' has invalid type/],
      ['{"text_input":"a","parameters":"b"}', 400, /Expected JSON object for keyword: 'parameters'/],
      ['{"text_input":"a","text_input":"b"}', 400, /input 'text_input' already exists in request/],
      ['', 400, /The document is empty\. at 0/],
    ] as const) {
      const answer = await post(server.http, 'upper', body, { action });
      expect([answer.status, answer.headers.get('content-type')]).toEqual([status, 'application/json']);
      expect(answer.json.error).toMatch(error);
    }
    const unknown = await post(server.http, 'nope', '{', { action });
    expect([unknown.status, unknown.json.error]).toEqual([404, "Request for unknown model: 'nope' is not found"]);
  });
});

describe('L0_generate: a reader', () => {
  it('gets an event while the model is still at the next one', async () => {
    const next = gate();
    await using server = await startServer((triton) => {
      triton.bind({
        modelName: 'slow',
        inferFunc: stream(async function* ({ n }) {
          yield { i: n };
          await next.opened;
          yield { i: n };
        }),
        inputs: { n: NUMBER },
        outputs: { i: NUMBER },
        config: { decoupled: true },
      });
    });
    const response = await fetch(`${server.http}/v2/models/slow/generate_stream`, { method: 'POST', body: '{"n":7}' });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader.read()).value).toBe('data: {"i":7,"model_name":"slow","model_version":"1"}\n\n');
    next.open();
    expect((await reader.read()).value).toBe('data: {"i":7,"model_name":"slow","model_version":"1"}\n\n');
    expect((await reader.read()).done).toBe(true);
  });

  it('that hangs up ends the generator', async () => {
    const aborted = gate<string>();
    await using server = await startServer((triton) => {
      triton.bind({
        modelName: 'endless',
        inferFunc: stream(async function* ({ n }, { signal }) {
          try {
            for (let i = 0; !signal.aborted; i++) {
              yield { i: n };
              await new Promise((resolve) => setImmediate(resolve));
            }
          } finally {
            aborted.open('the generator ended');
          }
        }),
        inputs: { n: NUMBER },
        outputs: { i: NUMBER },
        config: { decoupled: true },
      });
    });
    const url = new URL(`${server.http}/v2/models/endless/generate_stream`);
    const request = httpRequest(url, { method: 'POST', agent: false });
    request.end('{"n":1}');
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    await once(response, 'data');
    response.destroy();
    expect(await aborted.opened).toBe('the generator ended');
    await expectAlive(server.http);
  });

  it('that is slow makes the model wait', async () => {
    let made = 0;
    const elements = 256 * 1024;
    await using server = await startServer((triton) => {
      triton.bind({
        modelName: 'large',
        inferFunc: stream(async function* (_, { signal }) {
          for (; made < 1000 && !signal.aborted; made++) {
            yield { y: new Uint8Array(elements) };
            await new Promise((resolve) => setImmediate(resolve));
          }
        }),
        inputs: { n: NUMBER },
        outputs: { y: { dtype: 'uint8', shape: [-1] } },
        config: { decoupled: true, batching: false },
      });
    });
    const request = httpRequest(new URL(`${server.http}/v2/models/large/generate_stream`), {
      method: 'POST',
      agent: false,
    });
    request.end('{"n":1}');
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.pause();
    // The model goes on until everything between it and the reader is full, and then no further.
    for (let before = -1; before !== made;) {
      before = made;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(made).toBeLessThan(500);
    response.destroy();
  });
});

it('L0_generate: batches generate requests of several clients', async () => {
  const sizes: number[] = [];
  const release = gate();
  await using server = await startServer((triton) => {
    triton.bind({
      modelName: 'upper',
      inferFunc: batch(async ({ text_input }) => {
        sizes.push(text_input.rowCount);
        if (sizes.length === 1) await release.opened;
        return { text_output: text_input.map((text) => text.toUpperCase()) };
      }),
      inputs: { text_input: TEXT },
      outputs: { text_output: TEXT },
      config: { maxBatchSize: 8 },
    });
  });
  const send = (i: number) => ask(server.http, 'upper', { text_input: `t${i}` });
  const first = send(0);
  await expect.poll(() => sizes).toEqual([1]);
  const answers = [first, ...[1, 2, 3, 4].map(send)];
  const waiting = async () => pendingRequests(await (await fetch(server.metrics)).text());
  await expect.poll(waiting).toBe(4);
  release.open();
  const texts = (await Promise.all(answers)).map(({ text }) => /"text_output":"(.*)"/.exec(text)?.[1]);
  expect(texts).toEqual(['T0', 'T1', 'T2', 'T3', 'T4']);
  expect(sizes).toEqual([1, 4]);
});
