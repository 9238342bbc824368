// The OpenAI API over bound models, by the official client: what it sends is accepted, what it gets is what it expects.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import express from 'express';
import { Hono } from 'hono';
import OpenAI, { APIError, AuthenticationError, BadRequestError, InternalServerError, NotFoundError } from 'openai';
import type { ChatCompletion } from 'openai/resources/chat/completions';
import { describe, expect, it } from 'vitest';

import { batch, chatModel, type ChatRequest, completionModel, type CompletionRequest, embeddingModel, instanceGroup, messageText, stream, Triton, TritonError, type TritonConfig } from 'tstriton'; // prettier-ignore
import { ModelClient } from 'tstriton/client';

import { RawConnection } from '../support/raw-http.js';
import { repositoryAt } from '../support/repository-folder.js';
import { FREE_PORTS, gate, type RunningServer, startServer } from '../support/start-server.js';
import { emptyFolder } from '../support/temporary-files.js';

/** What the models have seen and done. */
class Seen {
  readonly requests: ChatRequest[] = [];
  readonly batches: number[] = [];
  readonly left = gate();
  given = 0;
}

const word = (text: string): string[] => text.split(/(?<= )/);

function bindModels(triton: Triton, seen: Seen = new Seen()): void {
  triton.bind(
    chatModel({
      modelName: 'Writer',
      async *chat(request) {
        seen.requests.push(request);
        const { messages, tools } = request;
        const last = messages.at(-1)!;
        if (tools.length > 0 && last.role === 'user') {
          yield 'Let me see. ';
          yield { toolCalls: [{ id: 'call_1', name: 'weather', arguments: { city: messageText(last) } }] };
          yield {
            toolCalls: [
              { index: 1, name: 'time' },
              { index: 1, arguments: '{"zone"' },
            ],
          };
          yield { toolCalls: [{ index: 1, arguments: ':1}' }] };
          return;
        }
        yield { usage: { promptTokens: messages.length } };
        for (const token of word(messageText(last))) {
          if (token.startsWith('fail')) throw new TritonError('UNAVAILABLE', `no ${token}`);
          yield token;
        }
      },
    }),
  );
  triton.bind(completionModel({ modelName: 'Words', *complete({ prompt }) { yield* word(`${prompt} and more`); } })); // prettier-ignore
  triton.bind(completionModel({ modelName: 'Whole', complete: async ({ prompt }) => `${prompt}!` }));
  triton.bind(
    chatModel({
      modelName: 'Endless',
      async *chat({ signal }) {
        signal.addEventListener('abort', () => seen.left.open());
        for (;;) {
          seen.given++;
          yield `token ${seen.given} `;
        }
      },
    }),
  );
  triton.bind(
    embeddingModel({
      modelName: 'Embed',
      embed(texts) {
        seen.batches.push(texts.length);
        return texts.map((text) => (text === 'bad' ? new TritonError('INVALID_ARG', 'bad text') : [text.length, 0.25, -1]));
      },
      countTokens: (text) => text.split(' ').length,
      config: { maxBatchSize: 4 },
    }),
  ); // prettier-ignore
  triton.bind({
    modelName: 'Plain',
    inferFunc: batch(({ x }) => ({ y: x })),
    inputs: { x: { dtype: 'float32', shape: [1] } },
    outputs: { y: { dtype: 'float32', shape: [1] } },
  });
}

const clientOf = (url: string, more: Partial<ConstructorParameters<typeof OpenAI>[0]> = {}) =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any', maxRetries: 0, ...more });
const user = (content: string) => [{ role: 'user', content } as const];

async function failure(promise: PromiseLike<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe.each([{ serverThread: true }, { serverThread: false }])('the OpenAI API with %o', ({ serverThread }) => {
  const serve = (seen?: Seen, config: TritonConfig = {}): Promise<RunningServer> =>
    startServer((triton) => bindModels(triton, seen), { serverThread, ...config });

  it('lists the models that it serves, and no others', async () => {
    await using server = await serve();
    const client = clientOf(server.http);
    const ids: string[] = [];
    for await (const { id, object } of client.models.list()) {
      expect(object).toBe('model');
      ids.push(id);
    }
    expect(ids.sort()).toEqual(['Embed', 'Endless', 'Whole', 'Words', 'Writer']);
    expect(await client.models.retrieve('Words')).toMatchObject({ id: 'Words', object: 'model' });
    expect(await failure(client.models.retrieve('Plain'))).toBeInstanceOf(NotFoundError);
    await server.triton.unbind('Words');
    expect(await failure(client.models.retrieve('Words'))).toBeInstanceOf(NotFoundError);
  });

  it('answers a chat in one piece', async () => {
    const seen = new Seen();
    await using server = await serve(seen);
    const completion = await clientOf(server.http).chat.completions.create({
      model: 'Writer',
      messages: [
        { role: 'system', content: 'Repeat.' },
        { role: 'user', content: [{ type: 'text', text: 'over ' }, { type: 'text', text: 'and “over”\n' }] },
      ],
      temperature: 0.5,
      max_completion_tokens: 9,
      stop: ['END', '###'],
      seed: 7,
      user: 'me',
    }); // prettier-ignore
    expect(completion.object).toBe('chat.completion');
    expect(completion.model).toBe('Writer');
    expect(completion.choices).toEqual([
      {
        index: 0,
        message: { role: 'assistant', content: 'over and “over”\n', refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ]);
    expect(completion.usage).toEqual({ prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 });
    const [{ maxTokens, stop, temperature, seed, options } = {} as ChatRequest] = seen.requests;
    expect({ maxTokens, stop, temperature, seed, user: options['user'] }).toEqual({
      maxTokens: 9,
      stop: ['END', '###'],
      temperature: 0.5,
      seed: 7,
      user: 'me',
    });
  });

  it('streams a chat token by token, and its usage when asked', async () => {
    await using server = await serve();
    const stream = await clientOf(server.http).chat.completions.create({
      model: 'Writer',
      messages: user('one two three'),
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks.map(({ choices }) => choices[0]?.delta)).toEqual([
      { role: 'assistant', content: '' },
      { content: 'one ' },
      { content: 'two ' },
      { content: 'three' },
      {},
      undefined,
    ]);
    expect(chunks.map(({ choices }) => choices[0]?.finish_reason)).toEqual([null, null, null, null, 'stop', undefined]);
    expect(chunks.map(({ usage }) => usage)).toEqual([
      ...Array.from({ length: 5 }, () => null),
      { prompt_tokens: 1, completion_tokens: 3, total_tokens: 4 },
    ]);
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
  });

  it('passes tools to the model, and its calls to the client', async () => {
    const seen = new Seen();
    await using server = await serve(seen);
    const { completions } = clientOf(server.http).chat;
    const parameters = { type: 'object', properties: { city: { type: 'string' } } };
    const request = {
      model: 'Writer',
      messages: user('Oslo'),
      tools: [{ type: 'function', function: { name: 'weather', parameters } }],
      tool_choice: 'auto',
    } as const;
    const calls = [
      { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } },
      { id: expect.stringMatching(/^call_/) as string, type: 'function', function: { name: 'time', arguments: '{"zone":1}' } },
    ]; // prettier-ignore
    const answer = await completions.create({ ...request, tools: [...request.tools] });
    const [{ message, finish_reason }] = answer.choices as [(typeof answer.choices)[0]];
    expect(message).toMatchObject({ content: 'Let me see. ', tool_calls: calls });
    expect(finish_reason).toBe('tool_calls');
    expect(seen.requests[0]).toMatchObject({ tools: request.tools, toolChoice: 'auto' });

    const streamed = completions.stream({ ...request, tools: [...request.tools] });
    expect((await streamed.finalChatCompletion()).choices[0]!.message).toMatchObject({ tool_calls: calls });

    const result = { role: 'tool', tool_call_id: 'call_1', content: 'rain' } as const;
    const next = await completions.create({ ...request, tools: [...request.tools], messages: [...request.messages, message, result] }); // prettier-ignore
    expect(next.choices[0]!.message.content).toBe('rain');
    expect(seen.requests.at(-1)!.messages.at(1)).toMatchObject({ role: 'assistant', tool_calls: calls });
  });

  it('streams the calls of a model that writes its JSON in lines, and refuses what is no list of calls', async () => {
    const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } };
    const text = { dtype: 'string', shape: [1] } as const;
    await using server = await startServer(
      (triton) =>
        triton.bind({
          modelName: 'Own',
          openai: 'chat',
          inputs: { messages: text },
          outputs: { text, tool_calls: text, finish_reason: text, usage: text },
          config: { decoupled: true, maxBatchSize: 1 },
          inferFunc: stream(function* ({ messages }) {
            const [{ content }] = JSON.parse(messages.data[0]!) as [{ content: string }];
            yield { tool_calls: [[content]] } as never;
          }),
        }),
      { serverThread },
    );
    const { completions } = clientOf(server.http).chat;
    const ask = (content: string, isStream: boolean) => {
      const request = { model: 'Own', messages: user(content) };
      return isStream
        ? completions.stream(request).finalChatCompletion()
        : (completions.create(request) as Promise<ChatCompletion>);
    };
    for (const isStream of [true, false]) {
      const { choices } = await ask(JSON.stringify([call], null, 2), isStream);
      expect(choices[0]!.message.tool_calls).toMatchObject([{ id: 'call_1', function: call.function }]);
      for (const wrong of ['[]}}]}\n\ndata: {"of": "others"}', '{}', '[null]', '[7]', '[{"index":-1}]', '[{"index":1e9}]'])
        expect(await failure(ask(wrong, isStream))).toMatchObject({
          type: 'server_error',
          message: expect.stringContaining("the model gave 'tool_calls' that") as string,
        });
    }
  }); // prettier-ignore

  it('joins characters that a model of bytes cuts in pieces, as byte-level tokens do', async () => {
    const text = { dtype: 'string', shape: [1] } as const;
    await using server = await startServer(
      (triton) =>
        triton.bind({
          modelName: 'Bytes',
          openai: 'chat',
          inputs: { messages: text },
          outputs: { text: { dtype: 'bytes', shape: [1] }, finish_reason: text, usage: text },
          config: { decoupled: true, maxBatchSize: 1 },
          inferFunc: stream(function* ({ messages }) {
            const [{ content }] = JSON.parse(messages.data[0]!) as [{ content: string }];
            for (const byte of Buffer.from(content, 'hex')) yield { text: [[Uint8Array.of(byte)]] } as never;
          }),
        }),
      { serverThread },
    );
    const { completions } = clientOf(server.http).chat;
    const hex = Buffer.from('aé😀b€').toString('hex');
    const whole = await completions.create({ model: 'Bytes', messages: user(hex), n: 2 });
    expect(whole.choices.map(({ message }) => message.content)).toEqual(['aé😀b€', 'aé😀b€']);
    const pieces: string[] = [];
    for await (const { choices } of await completions.create({ model: 'Bytes', messages: user(`${hex}f09f`), stream: true }))
      pieces.push(choices[0]!.delta.content ?? '');
    expect(pieces.filter((piece) => piece !== '')).toEqual(['a', 'é', '😀', 'b', '€', '\ufffd']);
    // What is no UTF-8 holds nothing back.
    const wrong = await completions.create({ model: 'Bytes', messages: user('c361ff80'), n: 1 });
    expect(wrong.choices[0]!.message.content).toBe('\ufffda\ufffd\ufffd');
  }); // prettier-ignore

  it('ends an answer before a stop sequence and after the most tokens', async () => {
    await using server = await serve();
    const { completions } = clientOf(server.http).chat;
    const ask = (more: object) => completions.create({ model: 'Writer', messages: user('a b c END d'), ...more });
    const outcome = async (more: object) => {
      const { choices, usage } = await ask(more);
      return [choices[0]!.message.content, choices[0]!.finish_reason, usage!.completion_tokens];
    };
    expect(await outcome({ stop: 'END' })).toEqual(['a b c ', 'stop', 4]);
    expect(await outcome({ max_tokens: 2 })).toEqual(['a b ', 'length', 2]);
    expect(await outcome({ max_tokens: 2, max_completion_tokens: 1 })).toEqual(['a ', 'length', 1]);
  });

  it('completes several prompts several times', async () => {
    await using server = await serve();
    const { completions } = clientOf(server.http);
    const whole = await completions.create({ model: 'Words', prompt: ['one', 'two'], n: 2, echo: true, max_tokens: 2 });
    expect(whole.object).toBe('text_completion');
    expect(whole.choices.map(({ index, text, finish_reason }) => [index, text, finish_reason])).toEqual([
      [0, 'oneone and ', 'length'],
      [1, 'oneone and ', 'length'],
      [2, 'twotwo and ', 'length'],
      [3, 'twotwo and ', 'length'],
    ]);
    expect(whole.usage!.completion_tokens).toBe(8);

    const texts = ['', '', ''];
    const finished: (string | null)[] = [];
    const prompt = ['x', 'yy', 'zzz'];
    for await (const { choices } of await completions.create({ model: 'Words', prompt, stream: true })) {
      const [{ index, text, finish_reason }] = choices as [(typeof choices)[0]];
      texts[index] += text;
      if (finish_reason !== null) finished.push(finish_reason);
    }
    expect(texts).toEqual(prompt.map((text) => `${text} and more`));
    expect(finished).toEqual(['stop', 'stop', 'stop']);

    const { choices } = await completions.create({ model: 'Whole', prompt: 'at once' });
    expect(choices[0]!.text).toBe('at once!');
  });

  it('embeds texts in both formats, of one request and of many in shared batches', async () => {
    const seen = new Seen();
    await using server = await serve(seen);
    const { embeddings } = clientOf(server.http);
    // The client asks for base64 unless told otherwise, and decodes it.
    const one = await embeddings.create({ model: 'Embed', input: 'four words are here' });
    expect(one.data).toEqual([{ object: 'embedding', index: 0, embedding: [19, 0.25, -1] }]);
    expect(one.usage).toEqual({ prompt_tokens: 4, total_tokens: 4 });

    const input = Array.from({ length: 10 }, (_, length) => 'x'.repeat(length));
    const many = await embeddings.create({ model: 'Embed', input, encoding_format: 'float', dimensions: 3 });
    expect(many.data.map(({ index, embedding }) => [index, ...embedding])).toEqual(
      input.map((text, index) => [index, text.length, 0.25, -1]),
    );
    // The model takes at most four texts in a batch.
    expect(seen.batches.slice(1).reduce((sum, size) => sum + size)).toBe(10);
    expect(Math.max(...seen.batches)).toBeLessThanOrEqual(4);

    const raw = await fetch(`${server.http}/v1/embeddings`, {
      method: 'POST',
      body: JSON.stringify({ model: 'Embed', input: ['ab'], encoding_format: 'base64' }),
    });
    const { data } = (await raw.json()) as { readonly data: readonly { readonly embedding: string }[] };
    expect(data[0]!.embedding).toBe(Buffer.from(Float32Array.of(2, 0.25, -1).buffer).toString('base64'));

    expect(await failure(embeddings.create({ model: 'Embed', input: ['ok', 'bad'] }))).toMatchObject({
      status: 400,
      message: expect.stringContaining('bad text') as string,
    });
  });

  it('refuses what a function for embeddings has not awaited, and numbers of tokens that are none', async () => {
    const late = () => Promise.reject(new Error('too late'));
    const counts: Readonly<Record<string, unknown>> = { half: 0.5, negative: -1, none: NaN, text: '7' };
    await using server = await startServer((triton) => {
      triton.bind(embeddingModel({ modelName: 'List', embed: (texts) => texts.map(late) as never }));
      triton.bind(embeddingModel({ modelName: 'Element', embed: (texts) => texts.map(() => [late()]) as never }));
      const embed = (texts: readonly string[]) => texts.map(() => [1]);
      triton.bind(embeddingModel({ modelName: 'Late', embed, countTokens: late as never }));
      triton.bind(embeddingModel({ modelName: 'Odd', embed, countTokens: (text) => counts[text] as number }));
    });
    const { embeddings } = clientOf(server.http);
    const messageOf = async (model: string, input: string) =>
      ((await failure(embeddings.create({ model, input }))) as Error).message;
    expect(await messageOf('List', 'x')).toContain("embed of model 'List' returned a Promise for text 0");
    expect(await messageOf('Element', 'x')).toContain('a list with a Promise at index 0');
    const expected = 'expected a whole number';
    expect(await messageOf('Late', 'x')).toContain(`countTokens of model 'Late' returned a Promise, ${expected}`);
    for (const [input, got] of Object.entries({ half: 0.5, negative: -1, none: NaN, text: 'a string' })) {
      expect(await messageOf('Odd', input)).toContain(`countTokens of model 'Odd' returned ${got}, ${expected}`);
    }
  });

  it('answers in JSON that every parser reads, whatever numbers an embedding has', async () => {
    const embed = () => [[NaN, Infinity, 1]];
    await using server = await startServer((triton) => triton.bind(embeddingModel({ modelName: 'Odd', embed })));
    const { embeddings } = clientOf(server.http);
    const { data } = await embeddings.create({ model: 'Odd', input: 'x', encoding_format: 'float' });
    expect(data[0]!.embedding).toEqual([null, null, 1]);
  });

  it.each([
    ['a text', ['a'], 'a list with a string at index 0 for text 1, expected numbers'],
    ['a bigint', [1n], 'a list with a bigint at index 0 for text 1, expected numbers'],
    ['doubles', Float64Array.of(1), 'a Float64Array for text 1, expected a Float32Array or a list of numbers'],
    ['nothing', undefined, 'undefined for text 1, expected a Float32Array or a list of numbers'],
    ['too many numbers', [1, 2], '2 numbers for text 1, expected 1 numbers'],
  ])('says which embedding is none: %s', async (_, wrong, message) => {
    const embed = () => [[1], wrong as never];
    await using server = await startServer((triton) => triton.bind(embeddingModel({ modelName: 'Wrong', embed })));
    const failed = failure(clientOf(server.http).embeddings.create({ model: 'Wrong', input: ['x', 'y'] }));
    expect(await failed).toMatchObject({ status: 500, message: expect.stringContaining(message) as string });
  });

  it('keeps different requests apart that come at once', async () => {
    await using server = await serve();
    const client = clientOf(server.http);
    const numbers = Array.from({ length: 60 }, (_, i) => i);
    const textOf = (i: number) => Array.from({ length: (i % 7) + 1 }, (_, at) => `r${i}w${at}`).join(' ');
    const answers = await Promise.all(
      numbers.map(async (i) => {
        if (i % 3 === 0) {
          const { data } = await client.embeddings.create({
            model: 'Embed',
            input: ['x'.repeat(i), 'y'.repeat(i + 1)],
          });
          return data.map(({ embedding }) => embedding[0]);
        }
        if (i % 3 === 1) {
          const { choices } = await client.completions.create({ model: 'Words', prompt: textOf(i) });
          return choices[0]!.text;
        }
        let text = '';
        const request = { model: 'Writer', messages: user(textOf(i)), stream: true } as const;
        for await (const { choices } of await client.chat.completions.create(request)) text += choices[0]!.delta.content ?? ''; // prettier-ignore
        return text;
      }),
    );
    expect(answers).toEqual(numbers.map((i) => (i % 3 === 0 ? [i, i + 1] : i % 3 === 1 ? `${textOf(i)} and more` : textOf(i)))); // prettier-ignore
  });

  it('ends the callable when the client leaves a stream', async () => {
    const seen = new Seen();
    await using server = await serve(seen);
    const { completions } = clientOf(server.http).chat;
    const stream = await completions.create({ model: 'Endless', messages: user(''), stream: true, n: 2 });
    for await (const { choices } of stream) if (choices[0]!.delta.content?.startsWith('token') === true) break;
    await seen.left.opened;
    expect(seen.given).toBeGreaterThan(0);
  });

  it('holds the callable for a slow reader', async () => {
    const seen = new Seen();
    await using server = await serve(seen);
    const { port } = new URL(server.http);
    const socket = connect({ host: '127.0.0.1', port: Number(port) });
    const body = JSON.stringify({ model: 'Endless', messages: user(''), stream: true });
    socket.write(`POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    await once(socket, 'readable');
    let before = -1;
    await expect.poll(() => {
      const isStill = seen.given === before;
      before = seen.given;
      return isStill;
    }, { interval: 200 }).toBe(true); // prettier-ignore
    socket.destroy();
    await seen.left.opened;
  });

  it('gives errors that the client knows by type', async () => {
    await using server = await serve();
    const client = clientOf(server.http);
    const { completions } = client.chat;
    expect(await failure(completions.create({ model: 'Nobody', messages: user('x') }))).toSatisfy(
      (error: APIError) =>
        error instanceof NotFoundError && error.code === 'model_not_found' && error.param === 'model',
    );
    const plain = await failure(completions.create({ model: 'Plain', messages: user('x') }));
    expect(plain).toBeInstanceOf(NotFoundError);
    const wrong: readonly (readonly [() => PromiseLike<unknown>, string | null, string])[] = [
      [() => completions.create({ model: 'Embed', messages: user('x') }), 'model', 'is served at /v1/embeddings'],
      [() => completions.create({ model: 'Writer', messages: [] }), 'messages', 'at least one message'],
      [() => completions.create({ model: 'Writer', messages: 1 as never }), 'messages', 'must be a list of objects'],
      [() => completions.create({ model: 'Writer', messages: ['x'] as never }), null, "'messages' must be a list of objects"],
      [() => completions.create({ model: 'Writer', messages: user('x'), n: 1000 }), 'n', 'from 1 to 128'],
      [() => completions.create({ model: 'Writer', messages: user('x'), logprobs: true }), 'logprobs', 'not supported'],
      [() => completions.create({ model: 'Writer', messages: user('x'), modalities: ['text', 'audio'] }), 'modalities', 'answers have no audio'],
      [() => completions.create({ model: 'Writer', messages: user('x'), audio: { format: 'mp3', voice: 'alloy' } }), 'audio', 'answers have no audio'],
      [() => completions.create({ model: 'Writer', messages: user('x'), temperature: 9 }), null, "'temperature' must be a number from 0 to 2, got 9"],
      [() => completions.create({ model: 'Writer', messages: user('x'), max_tokens: 0.5 }), null, "'max_tokens' must be a number >= 1"],
      [() => completions.create({ model: 'Writer', messages: user('x'), stop: [''] }), null, "'stop' must be"],
      [() => completions.create({ model: 'Writer', messages: user('x'), tools: [{ type: 'custom', custom: { name: 'x' } }] }), null, `'tools[0].type' must be "function", got "custom"`],
      [() => completions.create({ model: 'Writer', messages: user('x'), tools: [{ type: 'function' } as never] }), null, "'tools[0].function' must be an object with a name"],
      [() => completions.create({ model: 'Writer', messages: [{ role: 'user', content: [{ type: 'text', text: {} as never }] }] }), null, "'messages[0].content' must be a string or a list of parts"],
      [() => completions.create({ model: 'Writer', messages: [{ role: 'user', content: [{ type: 'image_url' } as never] }] }), null, "'messages[0].content' must be a string or a list of parts"],
      [() => completions.create({ model: 'Writer', messages: [{ role: 'assistant', tool_calls: [{ id: '1' } as never] }] }), null, "'messages[0].tool_calls' must be a list of calls"],
      [() => client.completions.create({ model: 'Words', prompt: [1, 2] }), 'prompt', 'lists of tokens are not supported'],
      [() => client.embeddings.create({ model: 'Embed', input: [] }), 'input', 'at least one text'],
      [() => client.embeddings.create({ model: 'Embed', input: 'x', dimensions: 8 }), 'dimensions', 'of 3 dimensions, not of 8'],
      [() => client.embeddings.create({ model: 'Embed', input: 'x', encoding_format: 'hex' as never }), 'encoding_format', 'float or base64'],
    ]; // prettier-ignore
    for (const [ask, param, message] of wrong) {
      const error = await failure(ask());
      expect(error).toBeInstanceOf(BadRequestError);
      expect(error).toMatchObject({ param, type: 'invalid_request_error', message: expect.stringContaining(message) as string }); // prettier-ignore
    }
    const broken = await fetch(`${server.http}/v1/completions`, { method: 'POST', body: '{"model":' });
    expect(broken.status).toBe(400);
    expect(await broken.json()).toMatchObject({ error: { type: 'invalid_request_error' } });
    const get = await fetch(`${server.http}/v1/completions`);
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST']);
    expect((await fetch(`${server.http}/v1/other`)).status).toBe(404);
    // The server serves on.
    expect((await completions.create({ model: 'Writer', messages: user('fine') })).choices[0]!.message.content).toBe('fine'); // prettier-ignore
  });

  it('gives the status of an error before the first token, and an error event after it', async () => {
    await using server = await serve();
    const { completions } = clientOf(server.http).chat;
    const ask = (content: string) => completions.create({ model: 'Writer', messages: user(content), stream: true });
    expect(await failure(ask('failing'))).toSatisfy(
      (error: APIError) => error instanceof InternalServerError && error.status === 503 && error.message.includes('no failing'),
    ); // prettier-ignore
    let text = '';
    const read = async () => {
      for await (const { choices } of await ask('one two failing')) text += choices[0]!.delta.content ?? '';
    };
    const error = await failure(read());
    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({ type: 'server_error', message: 'no failing' });
    expect(text).toBe('one two ');
  });

  it('gives the status of an error also where the answer would begin with the prompt', async () => {
    const complete = ({ prompt }: CompletionRequest) => {
      if (prompt === 'no') throw new TritonError('UNAVAILABLE', 'not now');
      return prompt === 'nothing' ? [] : ['!'];
    };
    await using server = await startServer((triton) => triton.bind(completionModel({ modelName: 'Echo', complete })));
    const { completions } = clientOf(server.http);
    const request = { model: 'Echo', echo: true, stream: true } as const;
    expect(await failure(completions.create({ ...request, prompt: 'no' }))).toMatchObject({ status: 503 });
    const texts = ['', ''];
    for await (const { choices } of await completions.create({ ...request, prompt: ['yes', 'nothing'] }))
      for (const { index, text } of choices) texts[index] += text;
    expect(texts).toEqual(['yes!', 'nothing']);
  });

  it('refuses what does not fit in the queue, and answers that grow beyond the memory', async () => {
    const [go, begun] = [gate(), gate()];
    const bind = (triton: Triton) => {
      const config = { concurrency: 1, batcher: { defaultQueuePolicy: { maxQueueSize: 1 } } };
      const complete = async ({ prompt }: CompletionRequest) => {
        begun.open();
        await go.opened;
        return prompt;
      };
      triton.bind(completionModel({ modelName: 'One', config, complete }));
      triton.bind(
        completionModel({
          modelName: 'Huge',
          *complete() {
            for (;;) yield 'x'.repeat(10_000);
          },
        }),
      );
    };
    await using server = await startServer(bind, {
      serverThread,
      maxInflightBytes: 20_000_000,
      httpMaxInputSize: 1_000_000,
    });
    const { completions } = clientOf(server.http);
    const first = completions.create({ model: 'One', prompt: 'first' });
    await begun.opened;
    // One more waits in the queue, and one has no place there, whichever comes first.
    const others = ['second', 'third'].map((prompt) => completions.create({ model: 'One', prompt }));
    const refused = await Promise.race(
      others.map(failure).map(async (error) => (await error) ?? new Promise(() => undefined)),
    );
    expect(refused).toMatchObject({
      status: 503,
      message: expect.stringContaining('Exceeds maximum queue size') as string,
    });
    expect((refused as APIError).headers?.get('retry-after')).toBe('1');
    go.open();
    expect((await first).choices[0]!.text).toBe('first');
    const settled = await Promise.allSettled(others);
    expect(settled.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);

    expect(await failure(completions.create({ model: 'Huge', prompt: '' }))).toMatchObject({
      status: 503,
      message: expect.stringContaining('no room for the rest of the answer') as string,
    });
    expect((await completions.create({ model: 'One', prompt: 'last' })).choices[0]!.text).toBe('last');
  });

  it('refuses several answers to a prompt whose copies have no room together, and serves one', async () => {
    await using server = await serve(undefined, { maxInflightBytes: 16_000_000 });
    const { completions } = clientOf(server.http);
    const prompt = 'p'.repeat(600_000);
    // 7/16 of the memory are 7 000 000 bytes.
    for (const n of [12, 128]) {
      expect(await failure(completions.create({ model: 'Words', prompt: prompt + n, n }))).toMatchObject({
        status: 400,
        param: 'n',
        message: expect.stringContaining(`the inputs of ${n} answers take`) as string,
      });
    }
    const { choices } = await completions.create({ model: 'Words', prompt: `${prompt} 3`, n: 3, max_tokens: 1 });
    expect(choices).toHaveLength(3);
  });

  it('serves models from folders, and from modules in threads of their own', async () => {
    const repository = repositoryAt(emptyFolder('tstriton-openai-'));
    const echo = "*complete({ prompt }) { yield prompt; yield ' again'; }";
    const module = (name: string) =>
      `import { completionModel } from ${JSON.stringify(import.meta.resolve('tstriton'))};
      const model = completionModel({ modelName: '${name}', ${echo} });
      export default model;`;
    repository.write('Declared/1/model.mjs', module('Declared'));
    repository.write(
      'Named/1/model.mjs',
      'export default (requests) => requests.map(({ inputs }) => [inputs.prompt]);',
    );
    repository.write(
      'Named/config.pbtxt',
      `backend: "tstriton"
      parameters { key: "openai" value { string_value: "completions" } }
      input [ { name: "prompt" data_type: TYPE_STRING dims: [ 1 ] } ]
      output [ { name: "text" data_type: TYPE_STRING dims: [ 1 ] } ]`,
    );
    const file = join(emptyFolder('tstriton-openai-'), 'thread.mjs');
    writeFileSync(file, module('Thread').replace('default model', 'default model.inferFunc'));
    const bind = (triton: Triton) => {
      const thread = completionModel({ modelName: 'Thread', complete: () => 'not this one' });
      triton.bind({ ...thread, inferFunc: instanceGroup(pathToFileURL(file), { count: 2 }) });
    };
    await using server = await startServer(bind, { serverThread, modelRepository: repository.path });
    const { completions } = clientOf(server.http);
    const texts = await Promise.all(
      ['Declared', 'Named', 'Thread'].map(async (model) => {
        const { choices } = await completions.create({ model, prompt: `to ${model}` });
        return [choices[0]!.text, choices[0]!.finish_reason];
      }),
    );
    expect(texts).toEqual([
      ['to Declared again', 'stop'],
      ['to Named', 'stop'],
      ['to Thread again', 'stop'],
    ]);
  });

  it('takes the access token as the API key', async () => {
    await using server = await serve(undefined, { accessToken: 'secret', restrictedEndpoints: ['inference', 'metadata'] });
    const ask = (client: OpenAI) => client.completions.create({ model: 'Whole', prompt: 'x' });
    expect(await failure(ask(clientOf(server.http)))).toBeInstanceOf(AuthenticationError);
    expect(await failure(clientOf(server.http).models.retrieve('Whole'))).toBeInstanceOf(AuthenticationError);
    expect((await ask(clientOf(server.http, { apiKey: 'secret' }))).choices[0]!.text).toBe('x!');
    const defaultHeaders = { 'triton-access-token': 'secret' };
    expect((await ask(clientOf(server.http, { defaultHeaders }))).choices[0]!.text).toBe('x!');
    // The key counts at the OpenAI API alone.
    const headers = { authorization: 'Bearer secret' };
    expect((await fetch(`${server.http}/v2`, { headers })).status).toBe(403);
  }); // prettier-ignore

  it('keeps to the limits of sizes, hosts and origins', async () => {
    await using server = await serve(undefined, {
      httpMaxInputSize: 1000,
      allowedHosts: ['models.example'],
      corsAllowOrigin: ['https://page.example'],
    });
    const { completions } = clientOf(server.http);
    expect(await failure(completions.create({ model: 'Whole', prompt: 'x'.repeat(2000) }))).toMatchObject({
      status: 413,
      type: 'invalid_request_error',
      message: expect.stringContaining('exceeds the maximum allowed input size of 1000 bytes') as string,
    });
    await using chunked = await RawConnection.open(server.triton.httpPort!);
    const head = 'POST /v1/completions HTTP/1.1\r\nHost: models.example\r\nTransfer-Encoding: chunked\r\n\r\n';
    await chunked.send(`${head}${(1001).toString(16)}\r\n${' '.repeat(1001)}\r\n`);
    const refusal = await chunked.answer();
    expect(refusal?.status).toBe(413);
    expect(JSON.parse(String(refusal?.body))).toMatchObject({ error: { type: 'invalid_request_error' } });
    const preflight = await fetch(`${server.http}/v1/completions`, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://page.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization',
      },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-headers')).toBe('authorization');
    expect(preflight.headers.get('access-control-allow-origin')).toBe('https://page.example');
    const asked = httpRequest(`${server.http}/v1/models`, { headers: { host: 'page.example' }, agent: false }).end();
    const [{ statusCode }] = (await once(asked, 'response')) as [IncomingMessage];
    expect(statusCode).toBe(403);
  });

  it('serves the same models over Triton’s protocols, and counts their requests', async () => {
    await using server = await serve();
    for (const url of [server.http, server.grpc]) {
      await using client = new ModelClient(url, 'Writer');
      const texts: string[] = [];
      const messages = [JSON.stringify(user('a b c'))];
      for await (const { text } of client.streamSample({ messages, options: ['{"max_tokens":2}'] })) {
        if (text !== undefined) texts.push(...text.strings());
      }
      expect(texts).toEqual(['a ', 'b ']);
    }
    await clientOf(server.http).embeddings.create({ model: 'Embed', input: ['a', 'b'] });
    const stats = (await (await fetch(`${server.http}/v2/models/Embed/stats`)).json()) as {
      readonly model_stats: readonly { readonly inference_count: number }[];
    };
    expect(stats.model_stats[0]!.inference_count).toBe(2);
    const config = (await (await fetch(`${server.http}/v2/models/Embed/config`)).json()) as object;
    expect(config).toMatchObject({ parameters: { openai: { string_value: 'embeddings' } } });
  }); // prettier-ignore
});

describe('the OpenAI API in other people’s servers', () => {
  const ask = async (url: string) => {
    const client = clientOf(url);
    let text = '';
    const request = { model: 'Writer', messages: user('one two'), stream: true } as const;
    for await (const { choices } of await client.chat.completions.create(request))
      text += choices[0]!.delta.content ?? '';
    const { data } = await client.embeddings.create({ model: 'Embed', input: ['a', 'bb'] });
    return [text, ...data.map(({ embedding }) => embedding[0])];
  };

  it('is served in Express, beside the paths of the application', async () => {
    await using triton = new Triton({ ...FREE_PORTS, allowHttp: false });
    const app = express();
    app.use(triton.handler());
    app.get('/v1/models', (_, response) => void response.json({ own: 'models' }));
    app.get('/v1/own', (_, response) => void response.json({ own: true }));
    const server = createServer(app).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await triton.run();
    // Without a model for the OpenAI API its paths are the application's.
    expect(await (await fetch(`${url}/v1/models`)).json()).toEqual({ own: 'models' });
    bindModels(triton);
    await triton.ready();
    expect(await ask(url)).toEqual(['one two', 1, 2]);
    expect(await (await fetch(`${url}/v1/own`)).json()).toEqual({ own: true });
    expect(await (await fetch(`${url}/v1/models`)).json()).toMatchObject({ object: 'list' });
    server.closeAllConnections();
    server.close();
  });

  it('is served in Hono, behind a prefix', async () => {
    await using triton = new Triton({ ...FREE_PORTS, allowHttp: false });
    bindModels(triton);
    const handler = triton.fetchHandler({ prefix: '/ai' });
    const app = new Hono();
    app.all('/ai/*', (context) => handler(context.req.raw));
    await triton.run();
    const client = clientOf('http://app.example/ai', { fetch: async (input, init) => app.fetch(new Request(input as string, init)) });
    const { choices } = await client.completions.create({ model: 'Whole', prompt: 'here' });
    expect(choices[0]!.text).toBe('here!');
    const seen: string[] = [];
    const request = { model: 'Writer', messages: user('one two'), stream: true } as const;
    for await (const chunk of await client.chat.completions.create(request)) seen.push(chunk.choices[0]!.delta.content ?? '');
    expect(seen.join('')).toBe('one two');
  }); // prettier-ignore
});
