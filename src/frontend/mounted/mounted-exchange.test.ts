import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';

import { describe, expect, it, vi } from 'vitest';

import { ByteBudget } from '../../sockets/byte-budget.js';
import { WriteTurn } from '../../sockets/write-turn.js';
import { FetchExchange } from './fetch-exchange.js';
import { MountedRequest } from './mounted-request.js';
import { NodeExchange } from './node-exchange.js';

const LONG = 60_000;
const LARGE = new Uint8Array(1 << 20);
const text = (value: string) => new TextEncoder().encode(value);

const clock = { now: 0 };
const surroundings = (bits: number) => ({ budget: new ByteBudget(1 << bits), clock });

describe('a long answer of a Response', () => {
  const LENGTH = 5 * (1 << 20) + 7;
  const parts = [Buffer.alloc(10, 'a'), Buffer.alloc(0), Buffer.alloc(LENGTH, 'bcdefgh')];

  async function answerOf(): Promise<Response> {
    const asked = new Request('http://h/v2/models/m/infer');
    const exchange = new FetchExchange(asked, '/v2/models/m/infer', surroundings(26), () => undefined);
    exchange.respond(200, ['x', 'y'], parts);
    const answer = await exchange.answer;
    expect([answer.status, answer.headers.get('x')]).toEqual([200, 'y']);
    return answer;
  }

  it('is copied a block at a time, between which others have their turn', async () => {
    const { body } = await answerOf();
    let turns = 0;
    let ended = false;
    const count = () => {
      turns++;
      if (!ended) setImmediate(count);
    };
    setImmediate(count);
    const blocks: Uint8Array[] = [];
    for await (const block of body!) blocks.push(block as Uint8Array);
    ended = true;
    expect(Math.max(...blocks.map(({ length }) => length))).toBeLessThanOrEqual(1 << 20);
    expect(turns).toBeGreaterThanOrEqual(blocks.length - 1);
    expect(Buffer.concat(blocks).equals(Buffer.concat(parts))).toBe(true);
    // They are copies: a reader may change them.
    expect(blocks.every(({ buffer }) => parts.every((part) => part.buffer !== buffer))).toBe(true);
  });

  it('is read in any way that Fetch knows, or left', async () => {
    expect(Buffer.from(await (await answerOf()).arrayBuffer()).equals(Buffer.concat(parts))).toBe(true);
    const reader = (await answerOf()).body!.getReader({ mode: 'byob' });
    let length = 0;
    for (let next = await reader.read(new Uint8Array(300_000)); !next.done;) {
      length += next.value.length;
      next = await reader.read(new Uint8Array(300_000));
    }
    expect(length).toBe(10 + LENGTH);
    const left = (await answerOf()).body!.getReader();
    const pending = left.read();
    await left.cancel();
    expect(await pending).toEqual({ done: true, value: undefined });
  });
});

describe('a mounted stream', () => {
  it.each<[string, (exchange: FetchExchange, asked: AbortController) => void]>([
    ['the server closes', (exchange) => exchange.close()],
    ['others need its room', (exchange) => exchange.evict()],
    ['its client leaves', (_, asked) => asked.abort()],
  ])('of a Response has nobody wait for its reader when %s', async (_, end) => {
    const asked = new AbortController();
    const request = new Request('http://h/v2/models/m/generate_stream', { signal: asked.signal });
    const exchange = new FetchExchange(request, '/v2/models/m/generate_stream', surroundings(24), () => undefined);
    exchange.begin(200, []);
    const slow = exchange.send(LARGE);
    expect(slow).toBeInstanceOf(Promise);
    end(exchange, asked);
    await slow;
    await exchange.answer;
  });

  it('of a Response ends with the reason of the client that leaves, also for a read that waits', async () => {
    const asked = new AbortController();
    const request = new Request('http://h/v2/models/m/generate_stream', { signal: asked.signal });
    const exchange = new FetchExchange(request, '/v2/models/m/generate_stream', surroundings(24), () => undefined);
    exchange.begin(200, []);
    const reader = (await exchange.answer).body!.getReader();
    const waiting = reader.read();
    const reason = new Error('left');
    asked.abort(reason);
    void exchange.send(text('too late'));
    exchange.end();
    await expect(waiting).rejects.toBe(reason);
  });

  it('of a Response stands still only while parts of it are not read', async () => {
    const asked = new Request('http://h/v2/models/m/generate_stream');
    const exchange = new FetchExchange(asked, '/v2/models/m/generate_stream', surroundings(24), () => undefined);
    exchange.begin(200, []);
    const reader = (await exchange.answer).body!.getReader();
    void exchange.send(text('first'));
    await reader.read();
    clock.now += LONG;
    expect(exchange.isStalled).toBe(false);
    // The pause of the model is not the client's.
    void exchange.send(LARGE);
    expect(exchange.isStalled).toBe(false);
    clock.now += LONG;
    expect(exchange.isStalled).toBe(true);
    await reader.read();
    expect(exchange.isStalled).toBe(false);
    exchange.close();
    await reader.closed.catch(() => undefined);
  });

  it('of node:http stands still only while parts of it are not read', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const asked = request({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, method: 'GET' }).end();
    const [incoming, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
    const head = new MountedRequest({ method: 'GET', target: '/', rawHeaders: incoming.rawHeaders, isMeasured: true });
    const parts = { incoming, response, request: head, turn: new WriteTurn() };
    const exchange = new NodeExchange(parts, surroundings(24), () => undefined);
    exchange.begin(200, []);
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    void exchange.send(text('first'));
    await once(answer, 'readable');
    await vi.waitFor(() => expect(response.writableLength).toBe(0));
    clock.now += LONG;
    expect(exchange.isStalled).toBe(false);
    // More than the system takes for a client that does not read.
    for (let i = 0; i < 32; i++) void exchange.send(LARGE);
    expect(exchange.isStalled).toBe(false);
    clock.now += LONG;
    expect(exchange.isStalled).toBe(true);
    answer.on('error', () => undefined);
    exchange.close();
    await new Promise((resolve) => server.close(resolve));
  });
});
