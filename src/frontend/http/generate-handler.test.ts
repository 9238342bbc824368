import { connect } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';

import { afterEach, describe, expect, it } from 'vitest';

import { responseTo, ScriptedServer, type Asked, type Script } from '../../../test/support/scripted-core.js';
import { TritonError } from '../../errors.js';
import type { InferTensor } from '../../model/exchange.js';
import { encodeRaw } from '../../tensor/raw.js';

const servers: ScriptedServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

async function serve(
  script: Script,
  options: Parameters<typeof ScriptedServer.start>[1] = {},
): Promise<ScriptedServer> {
  const server = await ScriptedServer.start(script, options);
  servers.push(server);
  return server;
}

const y = (value: number): InferTensor => ({
  name: 'y',
  datatype: 'FP32',
  shape: [1, 1],
  bytes: encodeRaw('float32', Float32Array.of(value)),
});
const flat = (value: number) => `{"model_name":"m","model_version":"1","y":${value}.0}`;
const GENERATE = '/v2/models/m/generate';
const STREAM = '/v2/models/m/generate_stream';
const EVENTS = 'text/event-stream; charset=utf-8';
const ONE_RESPONSE =
  '{"error":"generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses"}';

/** After the request was admitted, as a model in another thread answers. */
function later(script: (asked: Asked) => void | Promise<void>): Script {
  return (asked) => void turn().then(() => script(asked));
}

const three = later(async (asked) => {
  for (const value of [0, 1, 2]) await asked.sink.respond(responseTo(asked, [y(value)]), false);
  asked.sink.complete();
});

describe('generate', () => {
  it('answers with the only response, with its parameters', async () => {
    const server = await serve((asked) => void asked.sink.respond(responseTo(asked, [y(2)], { n: 1 }), true));
    const { status, headers, body } = await server.ask(GENERATE, '{"x":1,"id":"7"}');
    expect([status, headers['content-type'], headers['content-encoding']]).toEqual([
      200,
      'application/json',
      undefined,
    ]);
    expect(body.toString()).toBe('{"id":"7","model_name":"m","model_version":"1","n":1,"y":2.0}');
  });

  it('waits for the end of a decoupled model', async () => {
    const server = await serve(
      later(async (asked) => {
        await asked.sink.respond(responseTo(asked, [y(3)]), false);
        asked.sink.complete();
      }),
    );
    expect((await server.ask(GENERATE, '{"x":1}')).body.toString()).toBe(flat(3));
  });

  it('refuses more than one response, and cancels the rest', async () => {
    let cancelled = false;
    const server = await serve(
      later(async (asked) => {
        asked.signal.addEventListener('abort', () => (cancelled = true));
        await asked.sink.respond(responseTo(asked, [y(0)]), false);
        await asked.sink.respond(responseTo(asked, [y(1)]), false);
        await asked.sink.respond(responseTo(asked, [y(2)]), false);
        asked.sink.fail(new TritonError('CANCELLED', ''));
      }),
    );
    const { status, body } = await server.ask(GENERATE, '{"x":1}');
    expect([status, body.toString(), cancelled]).toEqual([400, ONE_RESPONSE, true]);
  });

  it('refuses a model that says nothing', async () => {
    const server = await serve(later(({ sink }) => sink.complete()));
    const { status, body } = await server.ask(GENERATE, '{"x":1}');
    expect([status, body.toString()]).toEqual([400, ONE_RESPONSE]);
  });

  it.each(['before', 'after'])('answers with the error of the model that comes %s its response', async (when) => {
    const server = await serve(
      later(async (asked) => {
        if (when === 'after') await asked.sink.respond(responseTo(asked), false);
        asked.sink.fail(new TritonError('NOT_FOUND', 'no such voice'));
      }),
    );
    const { status, body } = await server.ask(GENERATE, '{"x":1}');
    expect([status, body.toString()]).toEqual([404, '{"error":"no such voice"}']);
  });

  it('says when an output has no JSON form', async () => {
    const half = { name: 'y', datatype: 'FP16', shape: [1], bytes: new Uint8Array(2) } as const;
    const server = await serve(later((asked) => asked.sink.respond(responseTo(asked, [half]), true)));
    const { status, body } = await server.ask(GENERATE, '{"x":1}');
    expect(status).toBe(400);
    expect(body.toString()).toContain('sending FP16 data via JSON is not supported');
  });
});

describe('generate_stream', () => {
  it('sends each response as an event', async () => {
    const server = await serve(three);
    const { status, headers, body } = await server.ask(STREAM, '{"x":1}', { 'accept-encoding': 'gzip' });
    expect([status, headers['content-type'], headers['transfer-encoding']]).toEqual([200, EVENTS, 'chunked']);
    expect(headers['content-encoding']).toBeUndefined();
    expect(body.toString()).toBe([0, 1, 2].map((value) => `data: ${flat(value)}\n\n`).join(''));
  });

  it('sends an event when it is there, not at the end', async () => {
    let asked: Asked | undefined;
    const server = await serve(
      later((request) => {
        asked = request;
        return request.sink.respond(responseTo(request, [y(1)]), false);
      }),
    );
    const events = (await server.open(STREAM, '{"x":1}')).setEncoding('utf8')[Symbol.asyncIterator]();
    expect(await events.next()).toEqual({ done: false, value: `data: ${flat(1)}\n\n` });
    void asked!.sink.respond(responseTo(asked!, [y(2)]), true);
    expect(await events.next()).toEqual({ done: false, value: `data: ${flat(2)}\n\n` });
    expect((await events.next()).done).toBe(true);
  });

  it('sends no event for no response', async () => {
    const server = await serve(later(({ sink }) => sink.complete()));
    const { status, headers, body } = await server.ask(STREAM, '{"x":1}');
    expect([status, headers['content-type'], body.length]).toEqual([200, EVENTS, 0]);
  });

  it('sends the only response of an ordinary model as an event', async () => {
    const server = await serve(later((asked) => asked.sink.respond(responseTo(asked, [y(4)]), true)));
    expect((await server.ask(STREAM, '{"x":1}')).body.toString()).toBe(`data: ${flat(4)}\n\n`);
  });

  it('answers HTTP/1.0 without chunks', async () => {
    const server = await serve(three);
    const socket = connect(server.port, '127.0.0.1');
    socket.write(`POST ${STREAM} HTTP/1.0\r\nContent-Length: 7\r\n\r\n{"x":1}`);
    let text = '';
    for await (const piece of socket) text += String(piece);
    const [head = '', ...events] = text.split('\r\n\r\n');
    expect(head).not.toMatch(/transfer-encoding/i);
    expect(events.join()).toBe([0, 1, 2].map((value) => `data: ${flat(value)}\n\n`).join(''));
  });

  it('gives a first error its status, in an event', async () => {
    const server = await serve(later(({ sink }) => sink.fail(new TritonError('UNAVAILABLE', 'not "now"'))));
    const { status, headers, body } = await server.ask(STREAM, '{"x":1}');
    expect([status, headers['content-type']]).toEqual([503, EVENTS]);
    expect(body.toString()).toBe('data: {"error":"not \\"now\\""}\n\n');
  });

  it('ends with the error that comes after responses', async () => {
    const server = await serve(
      later(async (asked) => {
        await asked.sink.respond(responseTo(asked, [y(1)]), false);
        asked.sink.fail(new TritonError('INTERNAL', 'failed'));
      }),
    );
    const { status, body } = await server.ask(STREAM, '{"x":1}');
    expect([status, body.toString()]).toEqual([200, `data: ${flat(1)}\n\ndata: {"error":"failed"}\n\n`]);
  });

  it('answers in plain JSON what the core refuses at once', async () => {
    const server = await serve(({ sink }) => sink.fail(new TritonError('UNAVAILABLE', 'Exceeds maximum queue size')));
    const { status, headers, body } = await server.ask(STREAM, '{"x":1}');
    expect([status, headers['content-type']]).toEqual([503, 'application/json']);
    expect(body.toString()).toBe('{"error":"Exceeds maximum queue size"}');
  });

  it('ends with an error when an output has no JSON form, and cancels the rest', async () => {
    const half = { name: 'y', datatype: 'BF16', shape: [1], bytes: new Uint8Array(2) } as const;
    let cancelled = false;
    const server = await serve(
      later(async (asked) => {
        asked.signal.addEventListener('abort', () => (cancelled = true));
        await asked.sink.respond(responseTo(asked, [y(1)]), false);
        await asked.sink.respond(responseTo(asked, [half]), false);
        asked.sink.complete();
      }),
    );
    const { body } = await server.ask(STREAM, '{"x":1}');
    expect(body.toString()).toMatch(
      /^data: .*\n\ndata: \{"error":"sending BF16 data via JSON is not supported.*\}\n\n$/,
    );
    expect(cancelled).toBe(true);
  });

  it('waits for a slow reader once, however many answers are under way', async () => {
    const large: InferTensor = { name: 'y', datatype: 'UINT8', shape: [1, 1000], bytes: new Uint8Array(1000) };
    let told!: (rooms: readonly unknown[]) => void;
    const sent = new Promise<readonly unknown[]>((resolve) => (told = resolve));
    const server = await serve(
      later(async (asked) => {
        const rooms: unknown[] = [];
        while (rooms.length < 20) {
          const room = asked.sink.respond(responseTo(asked, [large]), false);
          if (room !== undefined) rooms.push(room);
        }
        told(rooms);
        await rooms[0];
        asked.sink.complete();
      }),
    );
    const answer = await server.open(STREAM, '{"x":1}');
    answer.pause();
    expect(new Set(await sent).size).toBe(1);
    answer.resume();
    await new Promise((resolve) => answer.once('end', resolve));
  });

  it('waits for a slow reader, and stops waiting when it hangs up', async () => {
    const large: InferTensor = { name: 'y', datatype: 'UINT8', shape: [1, 200_000], bytes: new Uint8Array(200_000) };
    let sent = 0;
    let cancelled = false;
    let waiting: (() => void) | undefined;
    const waits = new Promise<void>((resolve) => (waiting = resolve));
    let finished: (() => void) | undefined;
    const done = new Promise<void>((resolve) => (finished = resolve));
    const server = await serve(
      later(async (asked) => {
        asked.signal.addEventListener('abort', () => (cancelled = true));
        while (!cancelled) {
          const room = asked.sink.respond(responseTo(asked, [large]), false);
          sent++;
          if (room === undefined) continue;
          waiting!();
          await room;
        }
        asked.sink.fail(new TritonError('CANCELLED', ''));
        finished!();
      }),
    );
    const answer = await server.open(STREAM, '{"x":1}');
    answer.pause();
    await waits;
    expect(sent).toBeLessThan(1000);
    answer.destroy();
    await done;
    expect(cancelled).toBe(true);
  });
});

describe('both', () => {
  it.each([
    ['an unknown model', '/v2/models/nope/generate', '{', {}, 404, "Request for unknown model: 'nope' is not found"],
    [
      'a compressed body',
      GENERATE,
      '{',
      { 'content-encoding': 'gzip' },
      400,
      "Unsupported content-encoding, only 'identity' is supported.",
    ],
    [
      'malformed JSON',
      STREAM,
      '{',
      {},
      400,
      'failed to parse the request JSON buffer: Missing a name for object member. at 1',
    ],
    [
      'a large body',
      GENERATE,
      '{"x":[1,1,1,1]}',
      {},
      400,
      'request JSON size of 15 bytes exceeds the maximum allowed input size of 14 bytes. Use --http-max-input-size to increase the limit.',
    ],
    [
      'a large body without a length',
      STREAM,
      '{"x":[1,1,1,1]}',
      { 'transfer-encoding': 'chunked' },
      400,
      'request size of more than 14 bytes exceeds the maximum allowed input size of 14 bytes',
    ],
  ])('refuse %s', async (_, path, body, headers, expected, message) => {
    const server = await serve(three, { maxInputSize: 14 });
    const answer = await server.ask(path, body, headers);
    expect(answer.headers['content-type']).toBe('application/json');
    expect([answer.status, answer.body.toString()]).toEqual([expected, JSON.stringify({ error: message })]);
  });
});
