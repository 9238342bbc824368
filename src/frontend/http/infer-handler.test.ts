import { connect } from 'node:net';
import { deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib';

import { afterEach, describe, expect, it } from 'vitest';

import { MODEL, responseTo, ScriptedServer, type Script } from '../../../test/support/scripted-core.js';
import type { ModelInferRequest } from '../../model/exchange.js';

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

const INFER = '/v2/models/m/infer';
const echo: Script = (asked) => void asked.sink.respond(responseTo(asked), true);

function body(data: readonly number[], rest = ''): string {
  return `{"inputs":[{"name":"x","datatype":"FP32","shape":[1,${data.length}],"data":[${data.join()}]}]${rest}}`;
}

function answer(data: readonly number[]): string {
  const numbers = data.map((value) => value.toFixed(1)).join();
  return `{"model_name":"m","model_version":"1","outputs":[{"name":"y","datatype":"FP32","shape":[1,${data.length}],"data":[${numbers}]}]}`;
}

describe('compression', () => {
  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
  ])('takes requests in %s', async (coding, compress) => {
    const server = await serve(echo);
    const asked = await server.ask(INFER, compress(body([1, 2])), { 'content-encoding': coding });
    expect([asked.status, asked.body.toString()]).toEqual([200, answer([1, 2])]);
  });

  it('counts the length of the JSON part after inflating', async () => {
    const server = await serve(echo);
    const json = body([]).replace('[1,0],"data":[]', '[1,1],"parameters":{"binary_data_size":4}');
    const whole = Buffer.concat([Buffer.from(json), Buffer.from(Float32Array.of(7).buffer)]);
    const headers = { 'content-encoding': 'gzip', 'inference-header-content-length': json.length };
    const asked = await server.ask(INFER, gzipSync(whole), headers);
    expect([asked.status, asked.body.toString()]).toEqual([200, answer([7])]);
  });

  it.each([1, 5000])('answers %d values in what the client accepts', async (count) => {
    const server = await serve(echo);
    const data = Array.from({ length: count }, (_, i) => i);
    for (const [accepted, inflate] of [
      ['gzip', gunzipSync],
      ['deflate;q=1.0, gzip; q=0.5', inflateSync],
    ] as const) {
      const asked = await server.ask(INFER, body(data), { 'accept-encoding': accepted });
      expect(asked.headers['content-encoding']).toBe(accepted.split(';')[0]);
      expect(Number(asked.headers['content-length'])).toBe(asked.body.length);
      expect(inflate(asked.body).toString()).toBe(answer(data));
    }
    const plain = await server.ask(INFER, body(data), { 'accept-encoding': '*' });
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(plain.body.toString()).toBe(answer(data));
  });

  it('tells of a binary answer how long its JSON is once inflated', async () => {
    const server = await serve(echo);
    const asked = await server.ask(INFER, body([1], ',"parameters":{"binary_data_output":true}'), {
      'accept-encoding': 'gzip',
    });
    const whole = gunzipSync(asked.body);
    const length = Number(asked.headers['inference-header-content-length']);
    expect(asked.headers['content-type']).toBe('application/octet-stream');
    expect(JSON.parse(whole.toString('utf8', 0, length))).toMatchObject({ model_name: 'm' });
    expect(whole.subarray(length)).toEqual(Buffer.from(Float32Array.of(1).buffer));
  });

  it('leaves errors as they are', async () => {
    const server = await serve(echo);
    const asked = await server.ask(INFER, '{', { 'accept-encoding': 'gzip' });
    expect(asked.headers['content-encoding']).toBeUndefined();
    expect(JSON.parse(asked.body.toString())).toHaveProperty('error');
  });

  it.each([
    ['br', body([1]), 501, 'Unsupported compression type'],
    ['gzip, gzip', gzipSync(gzipSync(body([1]))), 501, 'Unsupported compression type'],
    ['gzip', body([1]), 400, 'failed to decompress the request body: incorrect header check'],
    ['gzip', '', 400, 'nothing to be decompressed'],
    [
      'gzip',
      gzipSync(Buffer.alloc(2000)),
      400,
      'Decompressed data size exceeds the maximum allowed value of 1000 bytes. Use --http-max-input-size to increase the limit.',
    ],
    [
      'gzip',
      Buffer.alloc(9000),
      400,
      'request size of 9000 bytes exceeds the maximum allowed input size of 2025 bytes',
    ],
  ])('refuses %s (%#)', async (coding, sent, status, message) => {
    const server = await serve(echo, { maxInputSize: 1000 });
    const asked = await server.ask(INFER, sent, { 'content-encoding': coding });
    expect([asked.status, asked.body.toString()]).toEqual([status, JSON.stringify({ error: message })]);
    expect(asked.headers['accept-encoding']).toBe(status === 501 ? 'gzip, deflate' : undefined);
  });

  it('finishes answers that are being compressed before it stops', async () => {
    const server = await serve(echo);
    const data = Array.from({ length: 20_000 }, (_, i) => i);
    const asked = server.open(INFER, body(data), { 'accept-encoding': 'gzip' });
    await new Promise((resolve) => setImmediate(resolve));
    const opened = await asked;
    await server.stop();
    expect(opened.statusCode).toBe(200);
  });
});

describe('classification', () => {
  const classes = (parameters: string) => body([1, 3, 2], `,"outputs":[{"name":"y","parameters":${parameters}}]`);

  it('gives the best values with their labels', async () => {
    const server = await serve(echo);
    const asked = await server.ask(INFER, classes('{"classification":2}'));
    expect(JSON.parse(asked.body.toString()).outputs).toEqual([
      { name: 'y', datatype: 'BYTES', shape: [1, 2], data: ['3.000000:1:dog', '2.000000:2'] },
    ]);
  });

  it('can be binary, and is off at 0', async () => {
    const server = await serve(echo);
    const binary = await server.ask(INFER, classes('{"classification":1,"binary_data":true}'));
    expect(binary.body.toString('latin1')).toMatch(/"binary_data_size":18\}\}\]\}\x0e\0\0\x003\.000000:1:dog$/);
    const off = await server.ask(INFER, classes('{"classification":0}'));
    expect(off.body.toString()).toBe(answer([1, 3, 2]));
  });

  it('says what cannot be classified', async () => {
    const server = await serve((asked) => {
      const flags = { name: 'y', datatype: 'BOOL', shape: [1, 1], bytes: Uint8Array.of(1) } as const;
      void asked.sink.respond(responseTo(asked, [flags]), true);
    });
    const asked = await server.ask(INFER, classes('{"classification":1}'));
    expect([asked.status, asked.body.toString()]).toEqual([
      400,
      `{"error":"class result not available for output due to unsupported type 'BOOL'"}`,
    ]);
  });
});

describe('forwarding of headers', () => {
  async function asking(pattern: string, headers: Record<string, string>, sent = body([1])) {
    let request: ModelInferRequest | undefined;
    const server = await serve(
      (asked) => {
        request = asked.request;
        echo(asked);
      },
      { headerForwardPattern: pattern },
    );
    // As bytes: with a text, node:http would send the headers in the text's encoding.
    const asked = await server.ask(INFER, Buffer.from(sent), headers);
    return { asked, parameters: request?.parameters && { ...request.parameters } };
  }

  it('makes parameters of those that match', async () => {
    const headers = { 'X-Fwd-User': 'Ann', 'x-other': 'no', 'X-FWD-City': Buffer.from('Köln').toString('latin1') };
    const { asked, parameters } = await asking('^x-fwd-', headers, body([1], ',"parameters":{"a":1}'));
    expect(asked.status).toBe(200);
    expect(parameters).toEqual({ a: 1, 'X-Fwd-User': 'Ann', 'X-FWD-City': 'Köln' });
  });

  it('refuses reserved names', async () => {
    const { asked, parameters } = await asking('.*', { Host: 'h', timeout: '5' });
    expect([asked.status, asked.body.toString()]).toEqual([
      400,
      `{"error":"Header 'timeout' is reserved for Triton usage and cannot be forwarded."}`,
    ]);
    expect(parameters).toBeUndefined();
  });

  it('keeps parameters to those of the body where nothing matches', async () => {
    expect((await asking('^nothing$', {})).parameters).toBeUndefined();
  });
});

describe('a body in chunks', () => {
  async function send(chunkSize: number, count: number): Promise<string> {
    const server = await serve(echo);
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(`POST ${INFER} HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n`);
    const chunk = `${chunkSize.toString(16)}\r\n${' '.repeat(chunkSize)}\r\n`;
    socket.write(chunk.repeat(count));
    const json = body([1]);
    socket.write(`${json.length.toString(16)}\r\n${json}\r\n0\r\n\r\n`);
    let text = '';
    for await (const piece of socket) {
      text += String(piece);
      if (text.includes('"outputs"')) break;
    }
    return text;
  }

  it('may be of many chunks', async () => {
    expect(await send(1, 60_000)).toContain('HTTP/1.1 200');
  });

  it('may not be of more than 65536 tiny ones', async () => {
    const text = await send(1, 70_000);
    expect(text).toContain('HTTP/1.1 400');
    expect(text).toMatch(/connection: close/i);
    expect(text).toContain(
      '{"error":"Chunked request body exceeds maximum of 65536 non-empty chunks. Send fewer or larger HTTP chunks."}',
    );
  });
});

describe('cross-origin requests', () => {
  const origin = 'https://a.example';
  const preflight = { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-token' };

  it('are not answered for by default', async () => {
    const server = await serve(echo);
    expect((await server.ask(INFER, '', preflight, 'OPTIONS')).status).toBe(405);
    const asked = await server.ask(INFER, body([1]), { origin });
    expect(Object.keys(asked.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it('are allowed for the origins of the operator, errors included', async () => {
    const server = await serve(echo, { corsAllowOrigin: [origin] });
    const allowed = await server.ask(INFER, '', preflight, 'OPTIONS');
    expect(allowed.status).toBe(204);
    expect(allowed.headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'x-token',
      vary: 'Access-Control-Request-Method, Access-Control-Request-Headers, Origin',
    });
    for (const [sent, status] of [
      [body([1]), 200],
      ['{', 400],
    ] as const) {
      const asked = await server.ask(INFER, sent, { origin });
      expect(asked.status).toBe(status);
      expect(asked.headers).toMatchObject({
        'access-control-allow-origin': origin,
        'access-control-expose-headers': 'Inference-Header-Content-Length, Content-Encoding',
        vary: 'Origin',
      });
    }
    const other = await server.ask(INFER, '', { ...preflight, origin: 'https://b.example' }, 'OPTIONS');
    expect(other.headers['access-control-allow-origin']).toBeUndefined();
    expect((await server.ask('/nope', '', preflight, 'OPTIONS')).status).toBe(404);
    expect((await server.ask(INFER, '', { origin }, 'OPTIONS')).status).toBe(405);
  });
});

it('refuses inference of decoupled models', async () => {
  const server = await serve(echo, { model: { ...MODEL, decoupled: true } });
  const asked = await server.ask(INFER, body([1]));
  expect([asked.status, asked.body.toString()]).toEqual([
    501,
    `{"error":"HTTP end point doesn't support models with decoupled transaction policy"}`,
  ]);
});
