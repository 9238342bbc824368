import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';

import { describe, expect, it, vi } from 'vitest';

import type { Logger } from '../../observability/logger.js';
import { ByteBudget } from '../../sockets/byte-budget.js';
import type { HttpService } from '../http/http-service.js';
import { MountedFrontend } from './mounted-frontend.js';

function frontendOf(handler: HttpService['handler']): MountedFrontend {
  const service = { name: 'HTTPService', handler } as HttpService;
  return new MountedFrontend({ service, budget: new ByteBudget(1 << 24), logger: {} as Logger });
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
