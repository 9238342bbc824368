// Handlers inside other people's HTTP servers: the answers of Triton's own port, request by request, without that port.
import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { devNull } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import express from 'express';
import { describe, expect, it } from 'vitest';

import { batch, defineModel, stream, Triton, type TritonConfig } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { MOUNTING_SERVERS, type MountingServer } from '../support/mounting-servers.js';
import { gate } from '../support/start-server.js';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as (options?: { readonly type: 'minor' }) => void;

const scale = defineModel({
  modelName: 'Scale',
  inputs: { x: { dtype: 'float32', shape: [-1] }, factor: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
});
const count = defineModel({
  modelName: 'Count',
  inputs: { to: { dtype: 'int32', shape: [1] } },
  outputs: { i: { dtype: 'int32', shape: [1] } },
  config: { decoupled: true },
});
const NO_PORTS = { allowHttp: false, allowGrpc: false, allowMetrics: false, logFile: devNull } as const;
/** Far more answers than fit between a server and a reader that does not read. */
const ENDLESS = 2_000_000_000;

interface Counting {
  /** How many numbers were given. */
  given: number;
  readonly stopped: { readonly open: (value: void) => void; readonly opened: Promise<void> };
}

function bindModels(triton: Triton, counting?: Counting): void {
  triton.bind({
    ...scale,
    inferFunc: batch(({ x, factor }) => ({ y: x.map((value, at) => value * factor.data[Math.floor((at * factor.data.length) / x.data.length)]!) })),
  }); // prettier-ignore
  triton.bind({
    ...count,
    inferFunc: stream(async function* ({ to }) {
      try {
        for (let i = 0; i < to.data[0]!; i++) {
          if (counting !== undefined) counting.given++;
          yield { i: [[i]] };
        }
      } finally {
        counting?.stopped.open();
      }
    }),
  });
}

/** Bytes of each answered request that only a full collection of garbage frees. */
async function keptBytes(handler: (request: Request) => Promise<Response>): Promise<number> {
  const each = 150;
  const together = 16;
  const body = json([2, 3], 4);
  const ask = async (): Promise<void> => {
    for (let i = 0; i < each; i++) {
      const answer = await handler(new Request('http://h/v2/models/Scale/infer', { method: 'POST', body }));
      await answer.arrayBuffer();
    }
  };
  gc();
  await Promise.all(Array.from({ length: together }, ask));
  for (let i = 0; i < 2; i++) gc({ type: 'minor' });
  const before = process.memoryUsage().heapUsed;
  gc();
  return (before - process.memoryUsage().heapUsed) / (each * together);
}

interface Asked {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const json = (x: readonly number[], factor: number, more = {}) =>
  JSON.stringify({
    inputs: [
      { name: 'x', datatype: 'FP32', shape: [1, x.length], data: x },
      { name: 'factor', datatype: 'FP32', shape: [1, 1], data: [factor] },
    ],
    ...more,
  });

const ASKED: readonly Asked[] = [
  { path: '/v2' },
  { path: '/v2/health/live' },
  { path: '/v2/health/ready' },
  { path: '/v2/models/Scale' },
  { path: '/v2/models/Scale/config' },
  { path: '/v2/models/Nobody' },
  { path: '/v2/models/Scale/infer', method: 'GET' },
  { path: '/v2/models/Scale/infer', method: 'POST', body: json([1, 2, 3], 2, { id: 'a', parameters: { p: 1 } }) },
  { path: '/v2/models/Scale/infer', method: 'POST', body: json([4], 5, { parameters: { binary_data_output: true } }) },
  { path: '/v2/models/Scale/infer', method: 'POST', body: '{"inputs":' },
  { path: '/v2/models/Scale/infer', method: 'POST', body: '' },
  { path: '/v2/models/Scale/infer', method: 'POST', body: 'x', headers: { 'content-encoding': 'br' } },
  { path: '/v2/models/Scale/infer', method: 'POST', body: json([7], 8), headers: { 'accept-encoding': 'gzip' } },
  { path: '/v2/models/Count/generate_stream', method: 'POST', body: '{"to":5}' },
  { path: '/v2/models/Count/generate_stream', method: 'POST', body: '{"to":"x"}' },
  { path: '/v2/repository/index', method: 'POST', body: '' },
];

/** What the two servers need not have in common. */
const OF_THE_CONNECTION = /^(?:connection|keep-alive|date|transfer-encoding|x-powered-by)$/;

async function answerTo(url: string, { path, ...asked }: Asked): Promise<unknown> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const { body = '', method = 'GET', headers } = asked;
    const length = body === '' ? {} : { 'content-length': Buffer.byteLength(body) };
    httpRequest(`${url}${path}`, { method, agent: false, headers: { ...headers, ...length } }, resolve)
      .on('error', reject)
      .end(body);
  });
  const pieces: Buffer[] = [];
  for await (const piece of answer as AsyncIterable<Buffer>) pieces.push(piece);
  const headers = Object.entries(answer.headers).filter(([name]) => !OF_THE_CONNECTION.test(name));
  return {
    status: answer.statusCode,
    headers: Object.fromEntries(headers),
    body: Buffer.concat(pieces).toString('latin1'),
  };
}

describe.each(Object.entries(MOUNTING_SERVERS))('mounted in %s', (name, mount) => {
  async function serving(work: (mounted: MountingServer, triton: Triton) => Promise<void>, config: TritonConfig = {}, counting?: Counting) {
    await using triton = new Triton({ ...NO_PORTS, ...config });
    bindModels(triton, counting);
    await using mounted = await mount(triton);
    await triton.run();
    await work(mounted, triton);
  } // prettier-ignore

  it('answers as its own port does', () =>
    serving(
      async (mounted, triton) => {
        const own = `http://127.0.0.1:${triton.httpPort}`;
        for (const asked of ASKED) {
          if (name === 'Hono 4' && asked.path === '/v2') continue;
          const answer = await answerTo(mounted.url, asked);
          expect({ asked, answer }).toEqual({ asked, answer: await answerTo(own, asked) });
        }
      },
      { allowHttp: true, httpPort: 0 },
    ));

  it('keeps requests apart that come at once', () =>
    serving(async ({ url }) => {
      await using client = new ModelClient(url, scale);
      const sizes = [1, 3, 17, 5000, 16_384, 70_001];
      const asked = Array.from({ length: 36 }, (_, i) => {
        const x = Float32Array.from({ length: sizes[i % sizes.length]! + i }, (_value, at) => at % 1000);
        return { x, factor: i + 1 };
      });
      const answers = await Promise.all(asked.map(({ x, factor }) => client.inferSample({ x, factor: [factor] })));
      for (const [i, { y }] of answers.entries()) {
        const { x, factor } = asked[i]!;
        expect(y!.data).toEqual(x.map((value) => value * factor));
      }
    }));

  it('waits for a slow reader, and ends the callable when that leaves', async () => {
    const counting = { given: 0, stopped: gate() };
    await serving(
      async ({ url }) => {
        const { hostname, port, pathname } = new URL(url);
        const socket = connect({ host: hostname, port: Number(port) });
        const body = `{"to":${ENDLESS}}`;
        const path = `${pathname === '/' ? '' : pathname}/v2/models/Count/generate_stream`;
        socket.write(`POST ${path} HTTP/1.1\r\nHost: h\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
        await once(socket, 'readable');
        // The callable stands still once everything between it and the reader is full.
        let before = -1;
        await expect
          .poll(() => {
            const isStill = counting.given === before;
            before = counting.given;
            return isStill;
          }, { interval: 200 })
          .toBe(true);
        expect(counting.given).toBeLessThan(ENDLESS / 1000);
        socket.destroy();
        await counting.stopped.opened;
      },
      {},
      counting,
    );
  }); // prettier-ignore

  it('finishes what is under way when the server stops, and refuses the rest', async () => {
    const begun = gate();
    const go = gate();
    await using triton = new Triton(NO_PORTS);
    triton.bind({
      ...scale,
      inferFunc: batch(async ({ x }) => {
        begun.open();
        await go.opened;
        return { y: x };
      }),
    });
    await using mounted = await mount(triton);
    const post = (x: number) => answerTo(mounted.url, { path: '/v2/models/Scale/infer', method: 'POST', body: json([x], 1) }); // prettier-ignore
    const notRunning = { status: 503, body: '{"error":"the server does not run; call run() first"}' };
    expect(await post(0)).toMatchObject(notRunning);
    await triton.run();
    const answer = post(7);
    await begun.opened;
    const stopped = triton.stop();
    await expect.poll(() => post(8)).toMatchObject({ status: 503, body: '{"error":"Server exiting"}' });
    go.open();
    expect(await answer).toMatchObject({ status: 200, body: expect.stringContaining('"data":[7.0]') as string });
    await stopped;
    expect(await post(9)).toMatchObject(notRunning);
    await triton.run();
    expect(await post(10)).toMatchObject({ status: 200, body: expect.stringContaining('"data":[10.0]') as string });
  });

  it('holds to the limits and tokens of the options', () =>
    serving(
      async ({ url }) => {
        const refused = await answerTo(url, { path: '/v2/models/Scale', headers: {} });
        expect(refused).toMatchObject({ status: 403 });
        const body = json(Array<number>(2000).fill(1), 1);
        expect(await answerTo(url, { path: '/v2/models/Scale/infer', method: 'POST', body })).toMatchObject({
          status: 400,
          body: expect.stringContaining('exceeds the maximum allowed') as string,
        });
      },
      { httpMaxInputSize: 1000, httpRestrictedApi: ['metadata:token=secret'] },
    ));
});

describe('a handler', () => {
  it('passes on to the application what is not for it', async () => {
    await using triton = new Triton(NO_PORTS);
    bindModels(triton);
    const app = express();
    app.use(triton.handler());
    app.get('/own', (_, response) => void response.json({ own: true }));
    const server = createServer(app).listen(0);
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
    await triton.run();
    expect(await answerTo(url, { path: '/own' })).toMatchObject({ status: 200, body: '{"own":true}' });
    expect(await answerTo(url, { path: '/v2/health/ready' })).toMatchObject({ status: 200 });
    await new Promise((resolve) => server.close(resolve));
  });

  it('says so where the body was read before', async () => {
    await using triton = new Triton(NO_PORTS);
    bindModels(triton);
    const app = express();
    app.use(express.text({ type: () => true }), triton.handler());
    const server = createServer(app).listen(0);
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
    await triton.run();
    const asked = { path: '/v2/models/Scale/infer', method: 'POST', body: json([1], 2) };
    expect(await answerTo(url, asked)).toMatchObject({
      status: 500,
      body: expect.stringContaining('mount the handler before what parses bodies') as string,
    });
    await new Promise((resolve) => server.close(resolve));
  });

  it('takes requests of the Fetch standard without a length, and rejects when nobody waits', async () => {
    await using triton = new Triton(NO_PORTS);
    const begun = gate();
    const never = gate();
    bindModels(triton);
    triton.bind({
      ...scale,
      modelName: 'Never',
      inferFunc: batch(async ({ x }) => {
        begun.open();
        await never.opened;
        return { y: x };
      }),
    });
    const handler = triton.fetchHandler({ prefix: '/api' });
    await triton.run();
    const url = 'http://h/api/v2/models';
    const answer = await handler(new Request(`${url}/Scale/infer`, { method: 'POST', body: json([2, 3], 4) }));
    expect(await answer.json()).toMatchObject({ outputs: [{ data: [8, 12] }] });
    expect((await handler(new Request('http://h/v2/health/ready'))).status).toBe(404);
    const controller = new AbortController();
    const { signal } = controller;
    const waiting = handler(new Request(`${url}/Never/infer`, { method: 'POST', body: json([5], 6), signal }));
    await begun.opened;
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
    never.open();
  });

  it('reads the body that comes, whatever length a request of the Fetch standard declares', async () => {
    await using triton = new Triton(NO_PORTS);
    bindModels(triton);
    const handler = triton.fetchHandler();
    await triton.run();
    const body = json([2, 3], 4);
    for (const length of [body.length, 10, body.length - 1, body.length + 1, 10_000]) {
      const headers = { 'content-length': String(length) };
      const answer = await handler(new Request('http://h/v2/models/Scale/infer', { method: 'POST', headers, body }));
      expect(await answer.json()).toMatchObject({ outputs: [{ data: [8, 12] }] });
    }
  });

  it('takes the host from the URL of a request without a header of it, as programs make them', async () => {
    await using triton = new Triton({ ...NO_PORTS, allowedHosts: ['models.example'] });
    const handler = triton.fetchHandler();
    await triton.run();
    const status = async (url: string, host?: string) =>
      (await handler(new Request(url, host === undefined ? {} : { headers: { host } }))).status;
    expect(await status('http://localhost:3000/v2/health/live')).toBe(200);
    expect(await status('http://models.example/v2/health/live')).toBe(200);
    expect(await status('http://evil.example/v2/health/live')).toBe(403);
    expect(await status('http://localhost/v2/health/live', 'evil.example')).toBe(403);
  });

  it('keeps no more of answered requests than Node does itself', async () => {
    await using triton = new Triton(NO_PORTS);
    bindModels(triton);
    const handler = triton.fetchHandler();
    await triton.run();
    const bare = async (request: Request) => new Response(await request.arrayBuffer());
    // With requests in a set, it is 5,000 to 10,000 more.
    const limit = 1000 + (await keptBytes(bare));
    expect(await keptBytes(handler)).toBeLessThan(limit);
  });

  it.each([['api'], ['/api/'], ['/'], [7]])('refuses the prefix %j', async (prefix) => {
    const triton = new Triton(NO_PORTS);
    expect(() => triton.handler({ prefix: prefix as string })).toThrow('prefix must begin with a slash');
  });

  it('has to be there before the server runs', async () => {
    await using triton = new Triton({ ...NO_PORTS, allowHttp: true, httpPort: 0 });
    bindModels(triton);
    await triton.run();
    expect(() => triton.handler()).toThrow('handlers have to be made before run()');
    await expect(new Triton(NO_PORTS).run()).rejects.toThrow('has to be allowed, got allowHttp: false');
  });
});

describe('an application that answers by itself', () => {
  it('keeps its answer, and the model goes on for others', async () => {
    const held = gate();
    const triton = new Triton(NO_PORTS);
    triton.bind({
      ...scale,
      config: { batching: false },
      inferFunc: async (requests) => {
        await held.opened;
        return requests.map(({ inputs: { x } }) => ({ y: x }));
      },
    });
    const handler = triton.handler();
    const server = createServer((incoming, response) => {
      handler(incoming, response);
      if (incoming.headers['x-impatient'] === undefined) return;
      incoming.on('end', () => {
        response.writeHead(504).end('too late');
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    await triton.run();
    const { port } = server.address() as { port: number };
    try {
      const ask = async (x: number, headers: Record<string, string> = {}) => {
        const inputs = [
          { name: 'x', datatype: 'FP32', shape: [1], data: [x] },
          { name: 'factor', datatype: 'FP32', shape: [1], data: [1] },
        ];
        const init = { method: 'POST', body: JSON.stringify({ inputs }), headers };
        return (await fetch(`http://127.0.0.1:${port}/v2/models/Scale/infer`, init)).text();
      };
      const patient = ask(3);
      expect(await ask(2, { 'x-impatient': 'yes' })).toBe('too late');
      held.open();
      expect(JSON.parse(await patient).outputs[0].data).toEqual([3]);
      expect(JSON.parse(await ask(4)).outputs[0].data).toEqual([4]);
    } finally {
      held.open();
      server.closeAllConnections();
      server.close();
      await triton.stop();
    }
  });
});

describe('a connection whose requests differ', () => {
  it('gets the answer of each, with the access that its own head gives', async () => {
    const triton = new Triton({ ...NO_PORTS, restrictedEndpoints: ['metadata'], accessToken: 'secret' });
    bindModels(triton);
    const server = createServer(triton.handler()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    await triton.run();
    const { port } = server.address() as { port: number };
    try {
      const socket = connect(port, '127.0.0.1');
      const request = (path: string, ...headers: string[]) =>
        [`GET ${path} HTTP/1.1`, 'Host: localhost', ...headers, '', ''].join('\r\n');
      const token = (value: string) => `triton-access-token: ${value}`;
      const heads = [
        request('/v2', token('secret')),
        request('/v2', token('secreT')),
        request('/v2', token('secret')),
        request('/v2/health/live', token('secret')),
        request('/v2'),
        request('/v2', token('secret')),
      ];
      socket.write(heads.join(''));
      let text = '';
      const statuses = () => Array.from(text.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status);
      for await (const piece of socket) {
        text += String(piece);
        if (statuses().length === heads.length) break;
      }
      expect(statuses()).toEqual(['200', '403', '200', '200', '403', '200']);
    } finally {
      server.closeAllConnections();
      server.close();
      await triton.stop();
    }
  });
});
