// Calls that are under way at once are told apart by everything they say: size, header, id, parameter and content. The server checks
// that each request is of one piece, and each answer is checked whole against its own request.
import type { Settings } from 'node:http2';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { afterEach, describe, expect, it } from 'vitest';

import {
  answerGrpcInfer,
  answerInfer,
  readGrpcInfer,
  readInfer,
  startGrpc,
  startHttp,
  type FakeServer,
} from '../../test/support/fake-servers.js';
import { PROTOCOLS, type Protocol } from '../../test/support/played-server.js';
import { defineModel } from '../model/callable.js';
import { ModelClient } from './model-client.js';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

const model = defineModel({
  modelName: 'M',
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
  strict: true,
});

/** In elements of four bytes: around the sizes at which memory is copied, referred to and used again. */
const SIZES = [1, 900, 1023, 1024, 1025, 4090, 4096, 4200, 8192, 16_384, 17_000, 50_000, 262_144, 262_200];

/** What the server saw of one request. */
interface Seen {
  readonly header: string | undefined;
  readonly id: string;
  readonly parameter: unknown;
  readonly x: Float32Array;
}

interface Checked {
  readonly url: string;
  /** Requests that were not of one piece. */
  readonly mixed: string[];
  readonly answered: Set<number>;
  readonly server: FakeServer;
}

interface Checking {
  /** Every so often the connection ends with an answer. */
  readonly closes?: boolean;
  /** Of HTTP/2. */
  readonly settings?: Settings;
}

/** Answers each request with its input and a half. */
async function startChecking(protocol: Protocol, { closes = false, settings = {} }: Checking): Promise<Checked> {
  const mixed: string[] = [];
  const answered = new Set<number>();
  const check = ({ header, id, parameter, x }: Seen): Float32Array => {
    const call = x[0]!;
    const length = SIZES[call % SIZES.length];
    const isWhole =
      header === `${call}${'h'.repeat(call % 700)}` &&
      id === `id-${call}` &&
      Number(parameter) === call &&
      x.length === length &&
      x.every((value) => value === call);
    if (!isWhole) mixed.push(`${header?.slice(0, 10)} ${id} ${String(parameter)} ${x[0]}…${x.at(-1)} ${x.length}`);
    answered.add(call);
    return x.map((value) => value + 0.5);
  };
  const tensor = (y: Float32Array) => ({
    name: 'y',
    datatype: 'FP32',
    shape: [1, y.length],
    bytes: new Uint8Array(y.buffer),
  });
  const server =
    protocol === 'http'
      ? await startHttp((request, response) => {
          const { json, blobs } = readInfer(request);
          const y = check({
            header: request.headers['x-call'] as string,
            id: json.id ?? '',
            parameter: json.parameters?.['call'],
            x: new Float32Array(Uint8Array.from(blobs[0]!).buffer),
          });
          if (closes && answered.size % 5 === 0) response.setHeader('connection', 'close');
          answerInfer(response, [tensor(y)]);
          // Without a word, as servers do whose keep-alive is over.
          if (closes && answered.size % 7 === 0) response.once('close', () => void request.socket.end());
        })
      : await startGrpc((request) => {
          const { id, parameters, rawInputContents } = readGrpcInfer(request);
          const y = check({
            header: request.headers['x-call'],
            id,
            parameter: parameters['call']?.parameterChoice.value,
            x: new Float32Array(Uint8Array.from(rawInputContents[0]!).buffer),
          });
          answerGrpcInfer(request.stream, [tensor(y)]);
          if (closes && answered.size % 40 === 0) request.stream.session?.close();
          // Other rules for requests whose heads and bodies are on their way.
          else if (settings.headerTableSize !== undefined && answered.size % 16 === 0)
            request.stream.session?.settings({ headerTableSize: (answered.size * 64) % 4096 });
        }, settings);
  return { url: `${protocol}://${server.authority}`, mixed, answered, server };
}

const servers: FakeServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server[Symbol.asyncDispose]();
});

async function start(protocol: Protocol, checking: Checking = {}): Promise<Checked> {
  const checked = await startChecking(protocol, checking);
  servers.push(checked.server);
  return checked;
}

type Client = ModelClient<(typeof model)['inputs'], (typeof model)['outputs']>;

/** The wrong answers of a call: none, or one. */
async function ask(client: Client, call: number, signal?: AbortSignal): Promise<'right' | 'wrong' | 'aborted'> {
  const length = SIZES[call % SIZES.length]!;
  try {
    const { y } = await client.inferSample(
      { x: new Float32Array(length).fill(call) },
      {
        headers: { 'x-call': `${call}${'h'.repeat(call % 700)}` },
        requestId: `id-${call}`,
        parameters: { call },
        retry: { idempotent: true, maxAttempts: 10, initialBackoffMs: 1 },
        ...(signal === undefined ? {} : { signal }),
      },
    );
    return y!.data.length === length && y!.data.every((value) => value === call + 0.5) ? 'right' : 'wrong';
  } catch (error) {
    if (signal?.aborted === true) return 'aborted';
    throw error;
  }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe.each(PROTOCOLS)('calls at once over %s', (protocol) => {
  it('are two requests, of two calls with a client that is new', async () => {
    const { url, mixed, answered } = await start(protocol);
    await using client = new ModelClient(url, model);
    // Both more than 16 KiB, of different lengths.
    expect(await Promise.all([ask(client, 10), ask(client, 11)])).toEqual(['right', 'right']);
    expect(mixed).toEqual([]);
    expect(answered).toEqual(new Set([10, 11]));
  });

  it.each([false, true])('each get their own answer, of a server that closes connections: %s', async (closes) => {
    const { url, mixed, answered } = await start(protocol, { closes });
    await using client = new ModelClient(url, model);
    for (let round = 0; round < 2; round++) {
      const calls = Array.from({ length: 64 }, (_, i) => round * 64 + i);
      const outcomes = await Promise.all(calls.map((call) => ask(client, call)));
      expect(outcomes).toEqual(calls.map(() => 'right'));
    }
    expect(mixed).toEqual([]);
    expect(answered.size).toBe(128);
  });

  it('each get their own answer while others are aborted at every stage', async () => {
    const { url, mixed } = await start(protocol);
    await using client = new ModelClient(url, model);
    for (let round = 0; round < 6; round++) {
      const controllers: AbortController[] = [];
      const outcomes = Array.from({ length: 48 }, (_, i) => {
        const controller = new AbortController();
        if (i % 3 === 0) controllers.push(controller);
        return ask(client, round * 48 + i, controller.signal);
      });
      // Before anything is sent, while it connects, while it is half sent, and while it is answered.
      for (const controller of controllers) {
        controller.abort();
        for (let turns = 0; turns < round; turns++) await turn();
      }
      const results = await Promise.all(outcomes);
      expect(results.filter((_, i) => i % 3 !== 0)).toEqual(Array.from({ length: 32 }, () => 'right'));
      expect(results).not.toContain('wrong');
    }
    expect(mixed).toEqual([]);
    expect(await ask(client, 999)).toBe('right');
  });

  it('leave nothing of their requests in memory', async () => {
    const { url } = await start(protocol);
    await using client = new ModelClient(url, model);
    for (let i = 0; i < 10; i++) expect(await ask(client, 13 + i * SIZES.length)).toBe('right');
    const sent: WeakRef<ArrayBufferLike>[] = [];
    const aborted = new AbortController();
    const send = async (length: number, options: { signal?: AbortSignal }) => {
      const x = new Float32Array(length).fill(length);
      sent.push(new WeakRef(x.buffer));
      await client.inferSample({ x }, options).catch(() => undefined);
    };
    for (let i = 0; i < 5; i++) {
      void send(600_000 + i, { signal: aborted.signal });
      await send(700_000 + i, {});
    }
    aborted.abort();
    await expect
      .poll(() => {
        gc();
        return sent.filter((x) => x.deref() !== undefined).length;
      })
      .toBe(0);
  });
});

describe('calls at once over gRPC', () => {
  it.each<Settings>([
    { initialWindowSize: 5000 },
    { maxConcurrentStreams: 3 },
    { headerTableSize: 0 },
    { maxFrameSize: 1 << 20, initialWindowSize: 1 << 20 },
  ])('each get their own answer of a server with settings %o', async (settings) => {
    const { url, mixed, answered } = await start('grpc', { settings });
    await using client = new ModelClient(url, model);
    for (let round = 0; round < 2; round++) {
      const calls = Array.from({ length: 64 }, (_, i) => round * 64 + i);
      const outcomes = await Promise.all(calls.map((call) => ask(client, call)));
      expect(outcomes).toEqual(calls.map(() => 'right'));
    }
    expect(mixed).toEqual([]);
    expect(answered.size).toBe(128);
  });
});
