import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';

import { describe, expect, it, vi } from 'vitest';

import type { Logger } from '../../observability/logger.js';
import { ByteBudget } from '../../sockets/byte-budget.js';
import type { HttpService } from '../http/http-service.js';
import { MountedFrontend } from './mounted-frontend.js';

function frontendOf(handler: HttpService['handler'], budget = new ByteBudget(1 << 24)): MountedFrontend {
  const service = { name: 'HTTPService', handler } as HttpService;
  return new MountedFrontend({ service, budget, logger: {} as Logger });
}

describe('a request whose client left before it came to the handler', () => {
  it.each([
    ['without a body', 'GET /v2/health/ready HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['with a whole body', 'POST /v2/models/m/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}'],
    ['with half a body', 'POST /v2/models/m/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{'],
  ])('%s is not under way in node:http', async (_, text) => {
    const handler = vi.fn<HttpService['handler']>(() => (exchange) => exchange.respond(200, [], []));
    const frontend = frontendOf(handler);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
    socket.write(text);
    const [incoming, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
    const closed = once(response, 'close');
    socket.destroy();
    await closed;
    frontend.serveNode(incoming, response, incoming.url!);
    await new Promise((resolve) => server.close(resolve));
    expect(frontend.underWay).toBe(0);
    expect(handler).not.toHaveBeenCalled();
  });

  it('is refused with its own reason by the Fetch handler', async () => {
    const handler = vi.fn<HttpService['handler']>(() => (exchange) => exchange.begin(200, []));
    const frontend = frontendOf(handler);
    const gone = new Error('gone');
    const request = new Request('http://h/v2/health/ready', { signal: AbortSignal.abort(gone) });
    await expect(frontend.serveFetch(request, '/v2/health/ready')).rejects.toBe(gone);
    expect(frontend.underWay).toBe(0);
    expect(handler).not.toHaveBeenCalled();
  });
});

describe('a request whose client takes nothing', () => {
  it('stands still for the time in which the server itself ran, and no longer', async () => {
    vi.useFakeTimers({
      toFake: ['performance', 'setInterval', 'clearInterval', 'setImmediate', 'clearImmediate'],
    });
    const budget = new ByteBudget(1 << 24);
    const opened = vi.spyOn(budget, 'open');
    const frontend = frontendOf(
      () => (exchange) => {
        exchange.begin(200, []);
        void exchange.send(new Uint8Array(1 << 20));
      },
      budget,
    );
    await frontend.serveFetch(new Request('http://h/v2/models/m/generate_stream'), '/v2/models/m/generate_stream');
    const [owner] = opened.mock.calls[0]!;
    vi.advanceTimersByTime(1000);
    const now = performance.now.bind(performance);
    const standstill = vi.spyOn(performance, 'now').mockImplementation(() => now() + 60_000);
    vi.advanceTimersByTime(600);
    expect(owner.isStalled).toBe(false);
    vi.advanceTimersByTime(10_000);
    expect(owner.isStalled).toBe(true);
    await frontend.close();
    expect(vi.getTimerCount()).toBe(0);
    standstill.mockRestore();
    vi.useRealTimers();
  });
});
