// Models on routes of their own: plain JSON, form data and files in, one plain object or a stream of objects out.
import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';

import { describe, expect, it } from 'vitest';

import { batch, stream, Triton, type TritonConfig, TritonError } from 'tstriton';

import { MOUNTING_SERVERS } from '../support/mounting-servers.js';
import { RawConnection } from '../support/raw-http.js';
import { FREE_PORTS, gate, startServer } from '../support/start-server.js';

const FLOATS = { dtype: 'float32', shape: [-1] } as const;

/** How many numbers a stream gave, and whether its callable has ended. */
interface Counting {
  given: number;
  readonly stopped: ReturnType<typeof gate<void>>;
}

function bindModels(triton: Triton, counting?: Counting): void {
  triton.bind({
    modelName: 'Scale',
    route: 'POST /scale',
    inputs: { x: FLOATS, factor: { dtype: 'float32', shape: [1], optional: true } },
    outputs: { y: FLOATS, count: { dtype: 'int32', shape: [1] } },
    config: { maxBatchSize: 32 },
    inferFunc: (requests) =>
      requests.map(({ inputs: { x, factor }, parameters }) => {
        const { add = 0 } = parameters as { readonly add?: number };
        if (add < 0) return new TritonError('PERMISSION_DENIED', 'add must not be negative');
        const scale = factor?.data[0] ?? 2;
        return { y: x.map((value) => value * scale + add), count: [[x.data.length]] };
      }),
  });
  triton.bind({
    modelName: 'Image',
    route: 'POST /images/v1/describe',
    inputs: {
      image: { dtype: 'bytes', shape: [1], contentEncoding: 'base64' },
      tags: { dtype: 'string', shape: [-1], optional: true },
      box: { dtype: 'float16', shape: [2, 2], optional: true },
      sure: { dtype: 'bool', shape: [], optional: true },
    },
    outputs: {
      size: { dtype: 'int64', shape: [1] },
      thumb: { dtype: 'bytes', shape: [1], contentEncoding: 'base64' },
      text: { dtype: 'string', shape: [-1] },
      box: { dtype: 'float16', shape: [2, 2] },
    },
    config: { batching: false },
    inferFunc: (requests) =>
      requests.map(({ inputs: { image, tags, box, sure } }) => ({
        size: [BigInt(image.data[0]!.length)],
        thumb: [image.data[0]!.subarray(0, 3)],
        text: [sure === undefined ? 'unset' : String(sure.data[0] === 1), ...(tags?.data ?? [])],
        box: box ?? [
          [0, 0],
          [1, 1],
        ],
      })),
  });
  triton.bind({
    modelName: 'Count',
    route: 'POST /count',
    inputs: { to: { dtype: 'int32', shape: [1] } },
    outputs: { i: { dtype: 'int32', shape: [1] } },
    config: { decoupled: true },
    inferFunc: stream(async function* ({ to }) {
      if (to.data[0]! < 0) throw new TritonError('INVALID_ARG', 'to must not be negative');
      try {
        for (let i = 0; i < to.data[0]!; i++) {
          if (i === 1000) throw new Error('no thousand');
          if (counting !== undefined) counting.given++;
          yield { i: [[i]] };
        }
      } finally {
        counting?.stopped.open();
      }
    }),
  });
}

interface Answer {
  readonly status: number;
  readonly type: string | null;
  readonly text: string;
}

type Body = string | Buffer | FormData;

async function post(url: string, body: Body, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  const response = await fetch(url, { method: 'POST', body, headers });
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
}

function form(
  ...parts: readonly (readonly [name: string, value: string | Uint8Array<ArrayBuffer>, type?: string])[]
): FormData {
  const data = new FormData();
  for (const [name, value, type = ''] of parts) {
    if (typeof value === 'string' && type === '') data.append(name, value);
    else data.append(name, new Blob([value], { type }), 'file');
  }
  return data;
}

const JPEG = Uint8Array.of(0xff, 0xd8, 0xff, 0xe0, 0);
const IMAGE = '/images/v1/describe';
const described = (size: number, thumb: string, rest: object = {}) => ({
  size,
  thumb,
  text: ['unset'],
  box: [
    [0, 0],
    [1, 1],
  ],
  ...rest,
});

/** Requests with their answers. */
const ANSWERED: readonly (readonly [path: string, body: Body, answer: object, headers?: Readonly<Record<string, string>>])[] = [
  ['/scale', '{"x":[1,2.5]}', { y: [2, 5], count: 2 }],
  ['/scale', ' { "factor" : [3] , "x" : [ ] } ', { y: [], count: 0 }],
  ['/scale?query=1', '{"x":[1],"factor":10,"parameters":{"add":0.5}}', { y: [10.5], count: 1 }],
  ['/scale', '{"x":[1e300],"factor":null}', { y: [null], count: 1 }],
  ['/scale', form(['x', ' [1, 2]\n'], ['factor', ' 4 '], ['parameters', '{"add":1}']), { y: [5, 9], count: 2 }],
  ['/scale', form(['x', '[1]'], ['factor', '']), { y: [2], count: 1 }],
  ['/scale', gzipSync('{"x":[7]}'), { y: [14], count: 1 }, { 'content-encoding': 'gzip', 'content-type': 'application/json' }],
  [IMAGE, '{"image":"/9j/4AA="}', described(5, '/9j/')],
  [IMAGE, '{"image":["AA=="],"tags":["é\\n","\\"["],"box":[[1,2],[3,4]],"sure":true}', described(1, 'AA==', { text: ['true', 'é\n', '"['], box: [[1, 2], [3, 4]] })],
  [IMAGE, Buffer.from(JPEG), described(5, '/9j/'), { 'content-type': 'image/jpeg' }],
  [IMAGE, form(['image', JPEG, 'image/jpeg']), described(5, '/9j/')],
  [IMAGE, form(['tags', 'a'], ['image', JPEG], ['tags', 'b'], ['sure', 'false'], ['box', '[[1,1],[2,2]]']), described(5, '/9j/', { text: ['false', 'a', 'b'], box: [[1, 1], [2, 2]] })],
  [IMAGE, form(['image', '"AA=="', 'application/json'], ['tags', '["x","y"]', 'application/json']), described(1, 'AA==', { text: ['unset', 'x', 'y'] })],
]; // prettier-ignore

const malformed = (body: string) => [body, { 'content-type': 'multipart/form-data; boundary=b' }] as const;
const REFUSED: readonly (readonly [path: string, body: Body, status: number, reason: RegExp, headers?: Readonly<Record<string, string>>])[] = [
  ['/scale', '', 400, /failed to parse the request JSON/],
  ['/scale', '{"x":[1}', 400, /failed to parse the request JSON/],
  ['/scale', '[1]', 400, /^expected a JSON object with the inputs by name, got an array$/],
  ['/scale', '{"x":[1],"x":[2]}', 400, /^member 'x' is given twice$/],
  ['/scale', '{"x":[1],"factr":2}', 400, /^model 'Scale' has no input for the member 'factr'; did you mean 'factor'\?$/],
  ['/scale', '{"x":[1],"zzz":2}', 400, /'zzz'; expected input 'x' \(float32\), input 'factor' \(float32\)$/],
  ['/scale', '{"factor":2}', 400, /missing required input\(s\) \['x'\]/],
  ['/scale', '{"x":null}', 400, /^input 'x' \(float32\) must be a list, .*, got a single value$/],
  ['/scale', '{"x":{}}', 400, /^input 'x' \(float32\) must hold numbers; got an object$/],
  ['/scale', '{"x":["1"]}', 400, /^input 'x' \(float32\) must hold numbers; got "1" at index 0$/],
  ['/scale', '{"x":[[1]]}', 400, /must be a flat list, as its shape \[-1\] says/],
  ['/scale', '{"x":[1],"factor":[1,2]}', 400, /^input 'factor' \(float32\) must have the shape \[1\], got \[2\]$/],
  ['/scale', '{"x":[1],"parameters":7}', 400, /params/],
  ['/scale', '{"x":[1],"parameters":{"add":-1}}', 403, /^add must not be negative$/],
  ['/scale', 'x', 400, /^model 'Scale' takes no body of type 'image\/png': it has 0 inputs of bytes or strings/, { 'content-type': 'image/png' }],
  ['/scale', 'x', 501, /^Unsupported compression type$/, { 'content-encoding': 'br' }],
  ['/scale', form(['x', '[1]'], ['y', '[1]']), 400, /^model 'Scale' has no input for the part 'y'/],
  ['/scale', form(['x', '[1]'], ['x', '[2]']), 400, /^part 'x' is given 2 times, expected one with JSON$/],
  ['/scale', form(['x', 'one']), 400, /^part 'x' must be JSON for the input 'x' \(float32\): /],
  ['/scale', new URLSearchParams({ x: '1' }).toString(), 400, /give the form of a page enctype="multipart\/form-data"$/, { 'content-type': 'application/x-www-form-urlencoded' }],
  ['/scale', 'x', 400, /must have a boundary/, { 'content-type': 'multipart/form-data' }],
  [IMAGE, '{"image":"no base64"}', 400, /^input 'image' \(bytes\) must hold strings of base64/],
  [IMAGE, '{"image":"AA="}', 400, /^input 'image' \(bytes\) must hold strings of base64/],
  [IMAGE, '{"image":"AA==","box":[[1,2],[3]]}', 400, /got lists of 2 and of 1 elements at level 2$/],
  [IMAGE, '{"image":"AA==","box":[[1,2]]}', 400, /^input 'box' \(float16\) must have the shape \[2,2\], got \[1,2\]$/],
  [IMAGE, '{"image":"AA==","sure":1}', 400, /^input 'sure' \(bool\) must hold true and false; /],
  [IMAGE, '{"image":"AA==","sure":[true]}', 400, /^input 'sure' \(bool\) must be a single value, got a list$/],
  [IMAGE, 'x', 400, /has 2 inputs of bytes or strings, expected one/, { 'content-type': 'image/png' }],
  [IMAGE, form(['image', JPEG], ['image', JPEG]), 400, /^input 'image' \(bytes\) takes one file or text, got 2$/],
  [IMAGE, malformed('--b\r\nContent-Disposition: form-data; name="image"\r\n\r\nabc')[0], 400, /ends early, in or behind part 'image'/, malformed('')[1]],
  ['/count', '{"to":-1}', 400, /^to must not be negative$/],
  ['/nowhere', '{}', 404, /^Not Found$/],
  ['/scale/', '{}', 404, /^Not Found$/],
]; // prettier-ignore

async function expectAnswers(url: string): Promise<void> {
  for (const [path, body, expected, headers] of ANSWERED.filter(([path]) => path !== IMAGE)) {
    const { status, type, text } = await post(`${url}${path}`, body, headers);
    expect({ path, status, type, answer: parsed(text) }).toEqual({ path, status: 200, type: 'application/json', answer: expected });
  }
} // prettier-ignore

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

describe.each([{ serverThread: true }, { serverThread: false }])('plain JSON with %o', (mode) => {
  it('answers JSON, form data and files', async () => {
    // A body in an image type needs a model with one input of bytes.
    await using server = await startServer((triton) => {
      bindModels(triton);
      triton.bind({
        modelName: 'Length',
        route: 'POST /length',
        inputs: { file: { dtype: 'bytes', shape: [-1] }, unit: { dtype: 'int32', shape: [1], optional: true } },
        outputs: { length: { dtype: 'int32', shape: [1] } },
        inferFunc: batch(({ file }) => ({ length: file.data.map((bytes) => [bytes.length]) })),
      });
    }, mode);
    for (const [path, body, expected, headers = {}] of ANSWERED) {
      const isImage = path === IMAGE && headers['content-type'] !== undefined;
      const answer = await post(`${server.http}${isImage ? '/length' : path}`, body, headers);
      expect({ path, ...answer, text: parsed(answer.text) }).toEqual({
        path,
        status: 200,
        type: 'application/json',
        text: isImage ? { length: 5 } : expected,
      });
    }
    for (const [path, body, status, reason, headers] of REFUSED) {
      const answer = await post(`${server.http}${path}`, body, headers);
      const { error } = parsed(answer.text) as { readonly error?: string };
      expect({ path, body, ...answer, error }).toMatchObject({ status, type: 'application/json', error: expect.stringMatching(reason) as string }); // prettier-ignore
    }
  });

  it('asks a proxy to pass on each answer of a stream as it comes', async () => {
    await using server = await startServer(bindModels, mode);
    const response = await fetch(`${server.http}/count`, { method: 'POST', body: '{"to":1}' });
    expect([response.headers.get('x-accel-buffering'), await response.text()]).toEqual(['no', 'data: {"i":0}\n\n']);
  });

  it('streams the answers of a decoupled model as events or as lines', async () => {
    await using server = await startServer(bindModels, mode);
    const url = `${server.http}/count`;
    expect(await post(url, '{"to":3}')).toEqual({
      status: 200,
      type: 'text/event-stream; charset=utf-8',
      text: 'data: {"i":0}\n\ndata: {"i":1}\n\ndata: {"i":2}\n\n',
    });
    const accept = 'text/html, application/x-ndjson;q=0.9';
    expect(await post(url, '{"to":2}', { accept })).toEqual({
      status: 200,
      type: 'application/x-ndjson',
      text: '{"i":0}\n{"i":1}\n',
    });
    expect(await post(url, '{"to":0}', { accept })).toMatchObject({ status: 200, text: '' });
    const { status, text } = await post(url, '{"to":1001}', { accept });
    const lines = text.trimEnd().split('\n').map((line) => JSON.parse(line) as object); // prettier-ignore
    expect([status, lines.length, lines.at(-1)]).toEqual([
      200,
      1001,
      { error: expect.stringContaining('no thousand') },
    ]);
  });

  it('waits for a slow reader, and ends the callable when that leaves', async () => {
    const counting: Counting = { given: 0, stopped: gate() };
    await using server = await startServer((triton) => {
      triton.bind({
        modelName: 'Endless',
        route: 'POST /endless',
        inputs: { size: { dtype: 'int32', shape: [1] } },
        outputs: { text: { dtype: 'string', shape: [1] } },
        config: { decoupled: true },
        inferFunc: stream(async function* ({ size }) {
          try {
            for (;;) {
              counting.given++;
              yield { text: [['x'.repeat(size.data[0]!)]] };
            }
          } finally {
            counting.stopped.open();
          }
        }),
      });
    }, mode);
    const socket = connect({ host: '127.0.0.1', port: server.triton.httpPort! });
    socket.write('POST /endless HTTP/1.1\r\nHost: h\r\nContent-Length: 14\r\n\r\n{"size":10000}');
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
    socket.destroy();
    await counting.stopped.opened;
  }); // prettier-ignore

  it('keeps requests apart that come at once, in batches with those of the protocol', async () => {
    await using server = await startServer(bindModels, mode);
    const asked = Array.from({ length: 60 }, (_, i) => ({
      x: Array.from({ length: i % 7 === 0 ? 5000 + i : i }, (_value, at) => (at * 3 + i) % 4096),
      factor: i + 1,
    }));
    const answers = await Promise.all(
      asked.map(async ({ x, factor }, i) => {
        if (i % 3 === 0)
          return post(`${server.http}/scale`, form(['x', JSON.stringify(x)], ['factor', String(factor)]));
        if (i % 3 === 1) return post(`${server.http}/scale`, JSON.stringify({ x, factor }));
        return post(`${server.http}/v2/models/Scale/generate`, JSON.stringify({ x, factor }));
      }),
    );
    for (const [i, { text }] of answers.entries()) {
      const { x, factor } = asked[i]!;
      const { y } = JSON.parse(text) as { readonly y: number | readonly number[] };
      expect([y].flat()).toEqual(x.map((value) => value * factor));
    }
    const statistics = (await (await fetch(`${server.http}/v2/models/Scale/stats`)).json()) as {
      readonly model_stats: readonly { readonly inference_count: number }[];
    };
    expect(statistics.model_stats[0]!.inference_count).toBe(60);
  });

  it('refuses a large body before it is read, and inputs that grow too large', async () => {
    await using server = await startServer(bindModels, { ...mode, httpMaxInputSize: 1000 });
    await using connection = await RawConnection.open(server.triton.httpPort!);
    await connection.send('POST /scale HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n');
    expect((await connection.answer())?.status).toBe(413);
    // Each digit becomes four bytes.
    const answer = await post(`${server.http}/scale`, JSON.stringify({ x: new Array(260).fill(1) }));
    expect(answer).toMatchObject({ status: 413, text: expect.stringMatching(/'x' have 1040 bytes, the limit is 1000/) as string });
    const zipped = gzipSync(JSON.stringify({ x: new Array(2000).fill(1) }));
    expect(await post(`${server.http}/scale`, zipped, { 'content-encoding': 'gzip' })).toMatchObject({
      status: 413,
      text: expect.stringContaining('Decompressed data size exceeds the maximum allowed value of 1000 bytes') as string,
    });
    await using chunked = await RawConnection.open(server.triton.httpPort!);
    const size = (1001).toString(16);
    await chunked.send(`POST /scale HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n${size}\r\n${' '.repeat(1001)}\r\n`);
    expect((await chunked.answer())?.status).toBe(413);
  }); // prettier-ignore

  it('compresses large answers for those who accept it, and leaves small ones plain', async () => {
    await using server = await startServer(bindModels, mode);
    const ask = async (length: number, accepted: string) => {
      const body = JSON.stringify({ x: new Array(length).fill(1.5) });
      const headers = { 'content-type': 'application/json', 'accept-encoding': accepted };
      const response = await fetch(`${server.http}/scale`, { method: 'POST', body, headers });
      expect(await response.json()).toEqual({ y: new Array(length).fill(3), count: length });
      return response.headers.get('content-encoding');
    };
    expect(await ask(200, 'gzip')).toBeNull();
    expect(await ask(600, 'gzip, deflate')).toBe('gzip');
    expect(await ask(600, 'deflate')).toBe('deflate');
    expect(await ask(600, 'identity')).toBeNull();
  });

  it('holds to the access token, to allowed hosts and to origins', async () => {
    const config: TritonConfig = {
      ...mode,
      httpRestrictedApi: ['inference:token=secret'],
      corsAllowOrigin: ['https://a.example'],
      allowedHosts: ['127.0.0.1'],
    };
    await using server = await startServer(bindModels, config);
    const url = `${server.http}/scale`;
    expect(await post(url, '{"x":[1]}')).toMatchObject({
      status: 403,
      text: `{"error":"This API is restricted, expecting header 'token'"}`,
    });
    expect((await post(url, '{"x":[1]}', { token: 'secret' })).status).toBe(200);
    const preflight = await fetch(url, {
      method: 'OPTIONS',
      headers: { origin: 'https://a.example', 'access-control-request-method': 'POST' },
    });
    expect([preflight.status, preflight.headers.get('access-control-allow-methods')]).toEqual([204, 'POST']);
    await using connection = await RawConnection.open(server.triton.httpPort!);
    await connection.send('POST /scale HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 0\r\n\r\n');
    expect((await connection.answer())?.status).toBe(403);
    const get = await fetch(url, { headers: { token: 'secret' } });
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST']);
    await get.body?.cancel();
  });

  it('follows the routes of models that come, change and go, on a connection that stays', async () => {
    await using server = await startServer(() => undefined, mode);
    const { triton } = server;
    const model = (modelVersion: number, route?: `POST /${string}`) => ({
      modelName: 'm',
      modelVersion,
      ...(route && { route }),
      inputs: {},
      outputs: { version: { dtype: 'int32', shape: [1] } } as const,
      inferFunc: batch(() => ({ version: [[modelVersion]] })),
    });
    await using connection = await RawConnection.open(triton.httpPort!);
    const ask = async (path: string) => {
      await connection.send(`POST ${path} HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}`);
      const answer = await connection.answer();
      return `${answer?.status} ${answer?.body.toString()}`;
    };
    expect(await ask('/a')).toBe('404 {"error":"Not Found"}');
    triton.bind(model(1, 'POST /a'));
    await triton.ready('m');
    expect(await ask('/a')).toBe('200 {"version":1}');
    triton.bind(model(2, 'POST /a'));
    await triton.ready('m');
    expect(await ask('/a')).toBe('200 {"version":2}');
    await triton.rebind(model(2, 'POST /b'));
    expect(await ask('/a')).toBe('200 {"version":1}');
    expect(await ask('/b')).toBe('200 {"version":2}');
    await triton.rebind(model(2));
    expect(await ask('/b')).toBe('404 {"error":"Not Found"}');
    await triton.unbind('m');
    expect(await ask('/a')).toBe('404 {"error":"Not Found"}');
  });
});

describe('routes at bind', () => {
  const model = (modelName: string, route: unknown, modelVersion = 1) =>
    ({ modelName, modelVersion, route, inputs: {}, outputs: {}, inferFunc: (requests: object[]) => requests }) as never;

  it('belong to one model each, whose versions may share one', async () => {
    const triton = new Triton(FREE_PORTS);
    triton.bind(model('a', 'POST /x'));
    triton.bind(model('a', 'POST /x', 2));
    const taken = { code: 'ALREADY_EXISTS', message: "route 'POST /x' of model 'b' is the route of model 'a'" };
    expect(() => triton.bind(model('b', 'POST /x'))).toThrow(expect.objectContaining(taken) as Error);
    triton.bind(model('b', 'POST /y'));
    await expect(triton.rebind(model('b', 'POST /x'))).rejects.toMatchObject(taken);
  });

  it('are checked, as are the encodings of tensors', () => {
    const triton = new Triton(FREE_PORTS);
    expect(() => triton.bind(model('a', 'GET /x'))).toThrow(/^route of model 'a' must be 'POST' and a path/);
    const tensor = (spec: object) => ({ ...(model('a', undefined) as object), inputs: { x: { shape: [1], ...spec } } });
    const bind = (spec: object) => () => triton.bind(tensor(spec) as never);
    expect(bind({ dtype: 'bytes', contentEncoding: 'hex' })).toThrow(/contentEncoding of input 'x' of model 'a' must be 'base64', got "hex"/); // prettier-ignore
    expect(bind({ dtype: 'int8', contentEncoding: 'base64' })).toThrow(/is for bytes and strings, not for int8/);
    expect(bind({ dtype: 'int8', description: 7 })).toThrow(/description of input 'x' of model 'a' must be a string, got 7/); // prettier-ignore
  });
});

describe('a mounted handler', () => {
  it.each(['node:http', 'node:http, behind a prefix', 'Express 5'] as const)(
    'serves own routes in %s',
    async (name) => {
      const triton = new Triton({ ...FREE_PORTS, allowHttp: false, allowGrpc: false, allowMetrics: false });
      bindModels(triton);
      await using mounted = await MOUNTING_SERVERS[name](triton);
      expect(await post(`${mounted.url}/scale`, '{"x":[1]}')).toMatchObject({ status: 503 });
      await triton.run();
      try {
        await expectAnswers(mounted.url);
        const lines = await post(`${mounted.url}/count`, '{"to":2}', { accept: 'application/jsonl' });
        expect(lines.text).toBe('{"i":0}\n{"i":1}\n');
        // Express goes on to what is behind the handler.
        expect((await post(`${mounted.url}/nowhere`, '{}')).status).toBe(404);
      } finally {
        await triton.stop();
      }
    },
  );

  it('serves own routes of the Fetch standard', async () => {
    await using triton = new Triton({ ...FREE_PORTS, allowHttp: false, allowGrpc: false, allowMetrics: false });
    bindModels(triton);
    const handler = triton.fetchHandler({ prefix: '/api' });
    await triton.run();
    const ask = (path: string, body: string | FormData) =>
      handler(new Request(`http://localhost${path}`, { method: 'POST', body }));
    expect(await (await ask('/api/scale', '{"x":[4]}')).json()).toEqual({ y: [8], count: 1 });
    expect(await (await ask('/api/scale', form(['x', '[5]']))).json()).toEqual({ y: [10], count: 1 });
    expect((await ask('/scale', '{"x":[4]}')).status).toBe(404);
  });
});
