// What hostile clients send to have a server work for nothing: for each attack the bytes of one blow, which is dealt some tens
// of times a second, and those of a harmless client that sends as many. For the suite attacks, which measures a good client's latency
// beside them; what clients do that hold on to the server for seconds is the suite hostile-clients (load/sieges.ts).

import { gzipSync } from 'node:zlib';

import { MODEL } from './identity-wire.js';
import { FLAG, FRAME, frame, opening, settings, windowUpdate } from './load/http2-frames.js';

export type Wire = 'http' | 'grpc';

export interface Attack {
  readonly name: string;
  readonly about: string;
  readonly wire: Wire;
  /** Sent once on each connection. */
  readonly opening: Buffer;
  /** `count` says how many there were on the connection before. */
  readonly blow: (count: number) => Buffer;
  /** Whether each blow has a connection of its own. */
  readonly hangsUp: boolean;
}

const KB = 1024;
const INFER = `/v2/models/${MODEL}/infer`;
const NOTHING = Buffer.alloc(0);

/** Of one client, at 50 blows a second. */
export const ATTACKS: readonly Attack[] = [
  http('slow heads', 'a connection for each byte of a head', Buffer.from('G'), true),
  http('half requests', 'a body that breaks off', post({ 'content-length': '100000' }, Buffer.alloc(16 * KB)), true),
  http('small chunks', '4000 chunks of a byte', post({ 'transfer-encoding': 'chunked' }, chunks(4000))),
  http('deep JSON', '32 kB of opening brackets', posted(Buffer.from(`{"inputs":${'['.repeat(32 * KB)}`))),
  http('many inputs', '1000 inputs in 32 kB of JSON', posted(Buffer.from(manyInputs(1000)))),
  http(
    'inflated body',
    '4 kB that inflate to 4 MB',
    posted(gzipSync(Buffer.alloc(4 << 20, ' ')), { 'content-encoding': 'gzip' }),
  ),
  http(
    'lying lengths',
    'a JSON length beyond the body',
    posted(Buffer.alloc(KB), { 'inference-header-content-length': '9999' }),
  ),
  http(
    'bad names',
    '30 requests for models that are not there',
    repeated(post({ 'content-length': '0' }, NOTHING, '/v2/models/nobody/infer'), 30),
  ),
  http('no request', 'bytes that are no HTTP', Buffer.alloc(KB, 'x\0'), true),
  grpc('rapid reset', '50 calls, each reset at once', (count) => {
    const ids = Array.from({ length: 50 }, (_, i) => 2 * (50 * count + i) + 1);
    return Buffer.concat(
      ids.flatMap((id) => [headOf('ModelInfer', id), frame(FRAME.RST_STREAM, 0, id, Buffer.of(0, 0, 0, 8))]),
    );
  }),
  grpc('CONTINUATION', '100 empty CONTINUATION frames', (count) => {
    const more = frame(FRAME.CONTINUATION, 0, 1, NOTHING);
    return Buffer.concat([...(count === 0 ? [frame(FRAME.HEADERS, 0, 1, Buffer.of(0x83))] : []), repeated(more, 100)]);
  }),
  grpc('SETTINGS', '100 SETTINGS frames', () => repeated(settings([[4, 65_535]]), 100)),
  grpc('PING', '100 PING frames', () => repeated(frame(FRAME.PING, 0, 0, Buffer.alloc(8)), 100)),
  grpc('window updates', '100 updates by a byte', () => repeated(windowUpdate(0, 1), 100)),
  grpc('zero window', '20 calls whose answers may not be sent', (count) => {
    const ids = Array.from({ length: 20 }, (_, i) => 2 * (20 * count + i) + 1);
    const zero = count === 0 ? [settings([[4, 0]])] : [];
    // Nothing that takes a model's time, which harmless requests take as well.
    const call = (id: number) => [headOf('ServerLive', id), frame(FRAME.DATA, FLAG.END_STREAM, id, Buffer.alloc(5))];
    return Buffer.concat([...zero, ...ids.flatMap(call)]);
  }),
  grpc('huge headers', '16 kB of header fields', (count) => {
    const field = Buffer.concat([Buffer.of(0, 1, 0x78, 100), Buffer.alloc(100, 'y')]);
    return frame(FRAME.HEADERS, FLAG.END_HEADERS | FLAG.END_STREAM, 2 * count + 1, repeated(field, 157));
  }),
];

/** As many bytes, and as many connections, of somebody who means no harm. */
export function harmless({ name, about, blow, hangsUp }: Attack): Attack {
  // The first ones of a connection may be larger.
  const bytes = blow(1).length;
  const head = (length: number) =>
    `POST ${INFER} HTTP/1.1\r\nhost: h\r\ninference-header-content-length: ${JSON_HEAD.length}\r\ncontent-length: ${length}\r\n\r\n`;
  const tensor = Math.max(0, bytes - JSON_HEAD.length - head(bytes).length) & ~7;
  const whole =
    tensor < KB
      ? Buffer.from(`GET /v2/health/live HTTP/1.1\r\nhost: h\r\nx: ${'x'.repeat(Math.max(1, bytes - 48))}\r\n\r\n`)
      : Buffer.concat([Buffer.from(head(JSON_HEAD.length + tensor)), binaryHead(tensor), Buffer.alloc(tensor)]);
  return { name, about, wire: 'http', opening: NOTHING, blow: () => whole, hangsUp };
}

/** Of one length whatever the sizes in it. */
function binaryHead(bytes: number): Buffer {
  const input = (name: string) =>
    `{"name":"${name}","datatype":"FP32","shape":[1,${bytes / 8}],"parameters":{"binary_data_size":${bytes / 2}}}`;
  const json = `{"inputs":[${input('a')},${input('b')}],"parameters":{"binary_data_output":true}}`;
  return Buffer.from(json.padEnd(JSON_HEAD_BYTES));
}

const JSON_HEAD_BYTES = 256;
const JSON_HEAD = binaryHead(8);

function http(name: string, about: string, bytes: Buffer, hangsUp = false): Attack {
  return { name, about, wire: 'http', opening: NOTHING, blow: () => bytes, hangsUp };
}

function grpc(name: string, about: string, blow: Attack['blow']): Attack {
  return { name, about, wire: 'grpc', opening: opening(), blow, hangsUp: false };
}

function post(headers: Readonly<Record<string, string>>, body: Buffer, path = INFER): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\nhost: h\r\n${lines.join('')}\r\n`), body]);
}

function posted(body: Buffer, headers: Readonly<Record<string, string>> = {}): Buffer {
  return post({ ...headers, 'content-length': String(body.length) }, body);
}

function repeated(part: Buffer, times: number): Buffer {
  return Buffer.alloc(part.length * times, part);
}

function chunks(count: number): Buffer {
  return Buffer.concat([repeated(Buffer.from('1\r\n \r\n'), count), Buffer.from('0\r\n\r\n')]);
}

function manyInputs(count: number): string {
  return `{"inputs":[${Array.from({ length: count }, () => '{"name":"a","datatype":"FP32"}').join(',')}]}`;
}

/** The head of a call, without anything that the connection would have to remember. */
function headOf(method: string, id: number): Buffer {
  const text = (value: string) => Buffer.concat([Buffer.of(value.length), Buffer.from(value)]);
  const path = Buffer.concat([Buffer.of(0x04), text(`/inference.GRPCInferenceService/${method}`)]);
  const type = Buffer.concat([Buffer.of(0x0f, 0x10), text('application/grpc')]);
  const block = Buffer.concat([Buffer.of(0x83, 0x86), path, type]);
  return frame(FRAME.HEADERS, FLAG.END_HEADERS, id, block);
}
