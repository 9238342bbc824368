import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';

import { afterEach, describe, expect, it, vi } from 'vitest';

import { ByteBudget } from '../../sockets/byte-budget.js';
import { WriteTurn } from '../../sockets/write-turn.js';
import { FetchExchange } from './fetch-exchange.js';
import { MountedRequest } from './mounted-request.js';
import { NodeExchange } from './node-exchange.js';

const LONG = 60_000;
const LARGE = new Uint8Array(1 << 20);
const text = (value: string) => new TextEncoder().encode(value);

afterEach(() => {
  vi.useRealTimers();
});

describe('a mounted stream', () => {
  it('of a Response stands still only while parts of it are not read', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const asked = new Request('http://h/v2/models/m/generate_stream');
    const exchange = new FetchExchange(asked, '/v2/models/m/generate_stream', new ByteBudget(1 << 24), () => undefined);
    exchange.begin(200, []);
    const reader = (await exchange.answer).body!.getReader();
    void exchange.send(text('first'));
    await reader.read();
    vi.advanceTimersByTime(LONG);
    expect(exchange.isStalled).toBe(false);
    // The pause of the model is not the client's.
    void exchange.send(LARGE);
    expect(exchange.isStalled).toBe(false);
    vi.advanceTimersByTime(LONG);
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
    vi.useFakeTimers({ toFake: ['performance'] });
    const head = new MountedRequest({ method: 'GET', target: '/', rawHeaders: incoming.rawHeaders, isMeasured: true });
    const parts = { incoming, response, request: head, turn: new WriteTurn() };
    const exchange = new NodeExchange(parts, new ByteBudget(1 << 24), () => undefined);
    exchange.begin(200, []);
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    void exchange.send(text('first'));
    await once(answer, 'readable');
    await vi.waitFor(() => expect(response.writableLength).toBe(0));
    vi.advanceTimersByTime(LONG);
    expect(exchange.isStalled).toBe(false);
    // More than the system takes for a client that does not read.
    for (let i = 0; i < 32; i++) void exchange.send(LARGE);
    expect(exchange.isStalled).toBe(false);
    vi.advanceTimersByTime(LONG);
    expect(exchange.isStalled).toBe(true);
    answer.on('error', () => undefined);
    exchange.close();
    await new Promise((resolve) => server.close(resolve));
  });
});
