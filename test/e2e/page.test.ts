// What the server sends to a browser that opens it: the page's files, and what the page asks for.
import { describe, expect, it } from 'vitest';

import { batch, Triton } from 'tstriton';

import { RawConnection } from '../support/raw-http.js';
import { startServer } from '../support/start-server.js';

const FILES = ['/', '/page/page.js', '/page/page.css'];

function bind(triton: Triton): void {
  triton.bind({
    modelName: 'Double',
    description: 'Twice as much',
    inputs: { x: { dtype: 'float32', shape: [-1], description: 'what to double' } },
    outputs: { y: { dtype: 'float32', shape: [-1], labels: ['first', 'second'], boxes: 'xyxy' } },
    inferFunc: batch(({ x }) => ({ y: x.map((value) => 2 * value) })),
  });
  triton.bind({
    modelName: 'Other',
    route: 'POST /',
    inputs: { n: { dtype: 'int32', shape: [1] } },
    outputs: { n: { dtype: 'int32', shape: [1] } },
    config: { batching: false },
    inferFunc: (requests) => requests,
  });
}

async function statuses(http: string, headers: Record<string, string> = {}): Promise<number[]> {
  const paths = [...FILES, '/page/models', '/page/figures'];
  return Promise.all(paths.map(async (path) => (await fetch(http + path, { headers })).status));
}

describe.each([{ serverThread: true }, { serverThread: false }])('the page with %o', (mode) => {
  it('is there with all that it is made of, and nothing from elsewhere', async () => {
    await using server = await startServer(bind, mode);
    const answers = await Promise.all(FILES.map((path) => fetch(server.http + path)));
    expect(answers.map(({ headers }) => headers.get('content-type')?.split(';')[0])).toEqual([
      'text/html',
      'text/javascript',
      'text/css',
    ]);
    const [html = '', script = '', style = ''] = await Promise.all(answers.map((answer) => answer.text()));
    const sizes = answers.map(({ headers }) => Number(headers.get('content-length')));
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(60_000);
    for (const path of FILES.slice(1)) expect(html).toContain(`"${path.slice(1)}"`);
    expect(html).not.toMatch(/<script[^>]*>[^<]|<style|\son\w+=/);
    for (const text of [html, style]) expect(text).not.toMatch(/https?:/);
    expect(script).toContain('Permission is hereby granted');
    for (const { headers } of answers) {
      expect(headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; script-src 'self'; style-src 'self'; /,
      );
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
      expect(headers.get('x-content-type-options')).toBe('nosniff');
    }
  });

  it('stays with a client that has it, in either coding', async () => {
    await using server = await startServer(bind, mode);
    for (const coding of ['gzip', 'identity']) {
      const headers = { 'accept-encoding': coding };
      const first = await fetch(`${server.http}/page/page.js`, { headers });
      const etag = first.headers.get('etag')!;
      expect([first.headers.get('content-encoding') ?? 'identity', first.headers.get('vary')]).toEqual([
        coding,
        'Accept-Encoding',
      ]);
      const again = await fetch(`${server.http}/page/page.js`, {
        headers: { ...headers, 'if-none-match': `"x", W/${etag}` },
      });
      expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag]);
      const changed = await fetch(`${server.http}/page/page.js`, { headers: { ...headers, 'if-none-match': '"x"' } });
      expect(await changed.text()).toBe(await first.text());
    }
    const head = await fetch(server.http, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  it('is told the declarations of the models, and their figures', async () => {
    await using server = await startServer(bind, mode);
    const models = (await (await fetch(`${server.http}/page/models`)).json()) as any;
    expect(models.server).toEqual({ name: 'triton', version: '0.1.0', grpcPort: server.triton.grpcPort });
    expect(models.versions[0]).toMatchObject({
      name: 'Double',
      version: '1',
      state: 'READY',
      declared: {
        description: 'Twice as much',
        inputs: [{ name: 'x', dtype: 'float32', shape: [-1], description: 'what to double' }],
        outputs: [{ name: 'y', labels: ['first', 'second'], boxes: 'xyxy' }],
        decoupled: false,
        sequences: false,
      },
    });
    expect(models.versions[1]).toMatchObject({ name: 'Other', declared: { maxBatchSize: 0, route: '/' } });
    for (const n of [1, 2, 3]) {
      const body = JSON.stringify({ n });
      expect(await (await fetch(server.http, { method: 'POST', body })).json()).toEqual({ n });
    }
    const figures = (await (await fetch(`${server.http}/page/figures`)).json()) as any;
    expect(figures.versions.map(({ name, success, executions, pending, inflight, instances }: any) => ({
      name, success, executions, pending, inflight, instances,
    }))).toEqual([
      { name: 'Double', success: 0, executions: 0, pending: 0, inflight: 0, instances: 1 },
      { name: 'Other', success: 3, executions: 3, pending: 0, inflight: 0, instances: 1 },
    ]); // prettier-ignore
    const { counts, bounds } = figures.versions[1].latency;
    expect([counts.length - bounds.length, counts.reduce((sum: number, count: number) => sum + count)]).toEqual([1, 3]);
  });

  it('is not there where it is not allowed, nor in production unless asked for', async () => {
    const without = async (config: object) => {
      await using server = await startServer(bind, { ...mode, ...config });
      const log = (await fetch(`${server.http}/page/log`)).status;
      return [...(await statuses(server.http)).map((status) => status === 200), log === 403];
    };
    const [everything, nothing] = [true, false].map((isThere) => Array.from({ length: 6 }, () => isThere));
    expect(await without({ allowPage: false })).toEqual(nothing);
    process.env['NODE_ENV'] = 'production';
    try {
      expect(await without({})).toEqual(nothing);
      expect(await without({ allowPage: true })).toEqual(everything);
    } finally {
      process.env['NODE_ENV'] = 'test';
    }
  });

  it('tells what it is told to those alone who have the headers for it', async () => {
    const config = {
      ...mode,
      restrictedEndpoints: ['metadata'],
      accessToken: 'secret',
      httpRestrictedApi: ['statistics:key=v'],
    };
    await using server = await startServer(bind, config);
    expect(await statuses(server.http)).toEqual([200, 200, 200, 403, 403]);
    expect(await (await fetch(`${server.http}/page/models`)).json()).toEqual({
      error: "This API is restricted, expecting header 'triton-access-token'",
    });
    expect(await statuses(server.http, { 'triton-access-token': 'secret' })).toEqual([200, 200, 200, 200, 403]);
    expect(await statuses(server.http, { 'triton-access-token': 'secret', key: 'v' })).toEqual([
      200, 200, 200, 200, 200,
    ]);
    const models = await startServer(bind, { ...mode, httpRestrictedApi: ['model-config:key=v'] });
    await using _ = models;
    expect(await statuses(models.http)).toEqual([200, 200, 200, 403, 200]);
  });

  it('tells why a model does not load to those alone who may read the index', async () => {
    const broken = (triton: Triton) => {
      const setup = () => Promise.reject(new Error('no weights'));
      const x = { dtype: 'float32', shape: [1] } as const;
      triton.bind({ modelName: 'Broken', inputs: { x }, outputs: { x }, setup, inferFunc: (requests) => requests });
    };
    await using server = await startServer(broken, { ...mode, accessToken: 'secret', exitOnError: false });
    const versions = async (headers: Record<string, string> = {}) =>
      ((await (await fetch(`${server.http}/page/models`, { headers })).json()) as any).versions;
    const version = { name: 'Broken', version: '1', state: 'UNAVAILABLE' };
    expect(await versions()).toEqual([version]);
    const reason = "Internal: setup of model 'Broken' failed: no weights";
    expect(await versions({ 'triton-access-token': 'secret' })).toEqual([{ ...version, reason }]);
  });

  it('gives the log to those alone who have the token for it', async () => {
    await using server = await startServer(bind, { ...mode, accessToken: 'secret' });
    const read = async (query: string, headers: Record<string, string> = {}) => {
      const answer = await fetch(`${server.http}/page/log${query}`, { headers });
      return { status: answer.status, body: (await answer.json()) as any };
    };
    expect(await read('')).toEqual({
      status: 403,
      body: { error: "This API is restricted, expecting header 'triton-access-token'" },
    });
    const token = { 'triton-access-token': 'secret' };
    const { body } = await read('', token);
    const last = body.entries.at(-1);
    expect(body.entries.map(({ number }: any) => number)).toEqual(body.entries.map((_: unknown, i: number) => i + 1));
    expect((await read(`?after=${last.number - 1}`, token)).body.entries).toContainEqual(last);
    expect((await read(`?after=${last.number}`, token)).body.entries).not.toContainEqual(last);
    expect((await read('?after=-1e9&after=x', token)).status).toBe(200);
  });

  it('is for the hosts that are allowed, and readable for no other origin', async () => {
    await using server = await startServer(bind, { ...mode, allowedHosts: ['example.org'] });
    const asked = async (host: string) => {
      await using connection = await RawConnection.open(server.triton.httpPort!);
      await connection.send(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      return (await connection.answer())?.status;
    };
    expect([await asked('example.org'), await asked('evil.example'), await asked('localhost')]).toEqual([
      200, 403, 200,
    ]);
    const foreign = await fetch(`${server.http}/page/models`, { headers: { origin: 'https://evil.example' } });
    expect(foreign.headers.get('access-control-allow-origin')).toBeNull();
  });

  it('leaves other methods as they were', async () => {
    await using server = await startServer((triton) => void triton.bind({
      modelName: 'One', inputs: {}, outputs: {}, inferFunc: (requests) => requests.map(() => ({})),
    }), mode); // prettier-ignore
    for (const method of ['POST', 'PUT', 'OPTIONS', 'DELETE']) {
      expect((await fetch(server.http, { method })).status).toBe(404);
    }
  });
});

describe('an application with a handler', () => {
  it('keeps its own root', async () => {
    await using server = await startServer(bind);
    await server.triton.stop();
    const mounted = new Triton({ allowHttp: false, allowGrpc: false, allowMetrics: false, logInfo: false });
    const handler = mounted.fetchHandler();
    await mounted.run();
    try {
      expect((await handler(new Request('http://localhost/'))).status).toBe(404);
      expect((await handler(new Request('http://localhost/page/models'))).status).toBe(404);
    } finally {
      await mounted.stop();
    }
  });
});
