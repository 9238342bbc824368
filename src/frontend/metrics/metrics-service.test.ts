import { afterEach, describe, expect, it } from 'vitest';

import { HttpFrontend } from '../http/http-frontend.js';
import { MetricsService } from './metrics-service.js';
import { PROMETHEUS_CONTENT_TYPE } from './prometheus-text.js';

describe('the port', () => {
  let frontend: HttpFrontend | undefined;
  let running = false;
  afterEach(() => frontend?.close());

  async function start(): Promise<string> {
    const nothing = () => undefined;
    const report = {
      contentType: PROMETHEUS_CONTENT_TYPE,
      text: () => `up ${Number(running)}\n`,
      start: () => void (running = true),
      stop: () => void (running = false),
    };
    const logger = { error: nothing, warn: nothing, info: nothing, verbose: nothing };
    frontend = new HttpFrontend(new MetricsService(report), { address: '127.0.0.1', port: 0, logger });
    return `http://127.0.0.1:${await frontend.start()}`;
  }

  it.each(['/metrics', '/metrics/', '/metrics?x=1'])('answers GET %s', async (path) => {
    const answer = await fetch((await start()) + path, { headers: { connection: 'close' } });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(await answer.text()).toBe('up 1\n');
  });

  it.each<[string, string, number]>([
    ['GET', '/', 404],
    ['GET', '/Metrics', 404],
    ['GET', '/metrics/x', 404],
    ['POST', '/metrics', 405],
    ['POST', '/nope', 405],
    ['OPTIONS', '/metrics', 405],
  ])('refuses %s %s with %d', async (method, path, status) => {
    const answer = await fetch((await start()) + path, { method, headers: { connection: 'close' } });
    expect(answer.status).toBe(status);
    expect(await answer.json()).toEqual({ error: status === 404 ? 'Not Found' : 'Method Not Allowed' });
  });

  it('drains', async () => {
    await start();
    frontend!.drain();
    await expect(frontend!.close()).resolves.toBeUndefined();
    expect(running).toBe(false);
  });
});
