// Sends recorded HTTP requests byte for byte over raw sockets and holds the answers against the recorded ones:
// status, the headers that clients read, framing, and the body to the byte, inflated where it is compressed. The reason phrase is not compared:
// clients go by the number.
import { connect } from 'node:net';
import { unzipSync } from 'node:zlib';
import { WAIT_MILLISECONDS } from '../support/waiting.js';
import type { HttpCase } from './cases.js';
import { clip, Verdict, type Replay, type Rule } from './rules.js';

export interface HttpAnswer {
  /** `closed` and `timeout`: the server did not answer. */
  readonly end: 'answered' | 'closed' | 'timeout';
  readonly status: number | undefined;
  readonly contentType: string | undefined;
  /** Inference-Header-Content-Length. */
  readonly jsonLength: string | undefined;
  readonly framing: 'length' | 'chunked' | 'none' | undefined;
  /** Content-Encoding. */
  readonly coding: string | undefined;
  /** All other headers, `name: value` in the order of their names, but for those that every answer of ours has. */
  readonly others: readonly string[];
  /** Of a body in chunks: `an event each`, or their sizes. */
  readonly chunks: string | undefined;
  /** Inflated: the compressed bytes are the compressor's own business. */
  readonly body: Buffer;
}

export type HttpRule = Rule<HttpCase, HttpAnswer>;

const SILENT = {
  status: undefined,
  contentType: undefined,
  jsonLength: undefined,
  framing: undefined,
  coding: undefined,
  others: [],
  chunks: undefined,
  body: Buffer.alloc(0),
};

/** Sends the cases in order; `portOf` names the server that stands for the recorded one. */
export async function replayHttp(
  cases: readonly HttpCase[],
  portOf: (testCase: HttpCase) => number,
  rules: readonly HttpRule[],
): Promise<Replay> {
  const verdict = new Verdict<HttpCase, HttpAnswer>(rules, differencesOf);
  for (const testCase of cases) {
    const ours = mask(await exchange(requestBytes(testCase), testCase.request.method, portOf(testCase)), testCase);
    verdict.add({ testCase, recorded: comparableRecorded(testCase), ours });
  }
  return verdict.replay();
}

export function requestBytes({ request }: HttpCase): Buffer {
  const head = [
    `${request.method} ${request.path} HTTP/1.1`,
    ...request.headers.map(([name, value]) => `${name}: ${value}`),
  ];
  const body =
    request.body_base64 === undefined ? Buffer.from(request.body ?? '') : Buffer.from(request.body_base64, 'base64');
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
}

export function recordedAnswer({ response }: HttpCase): HttpAnswer {
  if (response.status === undefined) return { ...SILENT, end: response.closed === true ? 'closed' : 'timeout' };
  const headers = new Map((response.headers ?? []).map(([name, value]) => [name.toLowerCase(), value]));
  const body =
    response.body_base64 === undefined ? Buffer.from(response.body ?? '') : Buffer.from(response.body_base64, 'base64');
  return answerOf(response.status, headers, { body, chunks: response.chunks ?? [] });
}

interface ReceivedBody {
  readonly body: Buffer;
  readonly chunks: readonly number[];
}

const NAMED = [
  'content-type',
  'content-length',
  'transfer-encoding',
  'content-encoding',
  'inference-header-content-length',
];

function answerOf(status: number, headers: ReadonlyMap<string, string>, { body, chunks }: ReceivedBody): HttpAnswer {
  const coding = headers.get('content-encoding');
  return {
    end: 'answered',
    status,
    contentType: headers.get('content-type'),
    jsonLength: headers.get('inference-header-content-length'),
    framing: headers.has('content-length') ? 'length' : headers.has('transfer-encoding') ? 'chunked' : 'none',
    coding,
    others: [...headers]
      .filter(([name]) => !NAMED.includes(name))
      .map(([name, value]) => `${name}: ${value}`)
      .sort(),
    chunks: chunksText(chunks, body),
    body: coding === undefined ? body : unzipSync(body),
  };
}

/** The recorded answer without what no two recordings share. */
export function comparableRecorded(testCase: HttpCase): HttpAnswer {
  return mask(recordedAnswer(testCase), testCase);
}

function chunksText(sizes: readonly number[], body: Buffer): string | undefined {
  if (sizes.length === 0) return undefined;
  const events = body.toString().match(/.*?\n\n/gs) ?? [];
  const lengths = events.map((event) => Buffer.byteLength(event));
  const isEach = (JOINS_CHUNKS ? joined(lengths, sizes) : lengths).join() === sizes.join();
  return isEach ? 'an event each' : sizes.join();
}

/** From Node 26 on, `node:http` makes one chunk of what is written in one turn. */
const JOINS_CHUNKS = Number(process.versions.node.split('.')[0]) >= 26;

/** Lengths of neighbours are added up as far as the chunks are longer than they. */
function joined(lengths: readonly number[], chunks: readonly number[]): readonly number[] {
  const rest = [...lengths];
  return chunks.map((chunk) => {
    let sum = rest.shift() ?? 0;
    while (sum < chunk && rest.length > 0) sum += rest.shift()!;
    return sum;
  });
}

/** Whether a header is one that every answer of ours has, and Triton's have not: RFC 9110, section 6.6.1, and keep-alive. */
function isOnEveryAnswer(name: string, value: string): boolean {
  if (name === 'date') return Math.abs(Date.parse(value) - Date.now()) < 60_000;
  return (name === 'connection' && value === 'keep-alive') || (name === 'keep-alive' && /^timeout=\d+$/.test(value));
}

export function exchange(request: Buffer, method: string, port: number): Promise<HttpAnswer> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const received: Buffer[] = [];
    const settle = (answer: HttpAnswer) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    const timer = setTimeout(() => settle({ ...SILENT, end: 'timeout' }), WAIT_MILLISECONDS);
    socket.setNoDelay(true);
    socket.on('data', (chunk) => {
      received.push(chunk);
      const answer = parseAnswer(Buffer.concat(received), method === 'HEAD', false);
      if (answer !== undefined) settle(answer);
    });
    // A server that closes before it has read everything resets the connection: not an error of ours.
    socket.on('error', () => undefined);
    socket.on('close', () =>
      settle(parseAnswer(Buffer.concat(received), method === 'HEAD', true) ?? { ...SILENT, end: 'closed' }),
    );
    socket.write(request);
  });
}

/** Undefined while bytes are missing. */
function parseAnswer(bytes: Buffer, noBody: boolean, ended: boolean): HttpAnswer | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const status = Number(statusLine.split(' ')[1]);
  const headers = new Map(
    lines
      .map((line): [string, string] => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      })
      .filter(([name, value]) => !isOnEveryAnswer(name, value)),
  );
  const rest = bytes.subarray(headEnd + 4);
  const whole = (body: Buffer) => answerOf(status, headers, { body, chunks: [] });
  if (noBody) return whole(Buffer.alloc(0));
  const length = headers.get('content-length');
  if (length !== undefined) return rest.length >= Number(length) ? whole(rest) : undefined;
  if (headers.get('transfer-encoding') === 'chunked') {
    const chunks = readChunks(rest);
    if (chunks === undefined) return undefined;
    return answerOf(status, headers, { body: Buffer.concat(chunks), chunks: chunks.map((chunk) => chunk.length) });
  }
  return ended ? whole(rest) : undefined;
}

function readChunks(bytes: Buffer): readonly Buffer[] | undefined {
  const chunks: Buffer[] = [];
  for (let offset = 0; ;) {
    const lineEnd = bytes.indexOf('\r\n', offset);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(bytes.toString('latin1', offset, lineEnd), 16);
    if (bytes.length < lineEnd + 2 + size + 2) return undefined;
    if (size === 0) return chunks;
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    offset = lineEnd + 2 + size + 2;
  }
}

/** Puts 1 in the place of numbers that no two recordings share; whether there is one at all stays to be seen. */
function mask(answer: HttpAnswer, { varies }: HttpCase): HttpAnswer {
  if (varies === undefined) return answer;
  let text = answer.body.toString();
  for (const pattern of varies) {
    text = text.replaceAll(new RegExp(pattern, 'g'), (found) => found.replace(/[1-9]\d*$/, '1'));
  }
  return { ...answer, body: Buffer.from(text) };
}

export function differencesOf(ours: HttpAnswer, expected: HttpAnswer): string[] {
  if (ours.end !== expected.end) return [`expected ${describe(expected)}\n    got ${describe(ours)}`];
  const differences: string[] = [];
  for (const member of ['status', 'contentType', 'jsonLength', 'framing', 'coding', 'chunks'] as const) {
    if (ours[member] !== expected[member])
      differences.push(`${member}: expected ${expected[member]}, got ${ours[member]}`);
  }
  const [others, wanted] = [ours.others.join(', '), expected.others.join(', ')];
  if (others !== wanted) differences.push(`headers: expected ${wanted || 'no others'}, got ${others || 'no others'}`);
  if (!ours.body.equals(expected.body)) differences.push(...bodyDifference(ours, expected));
  return differences;
}

function describe({ end, status, body }: HttpAnswer): string {
  if (end === 'closed') return 'a closed connection';
  return end === 'timeout' ? 'no answer' : `${status} ${clip(body.toString())}`;
}

function bodyDifference(ours: HttpAnswer, expected: HttpAnswer): string[] {
  const [ourJson, ourTail] = splitBody(ours);
  const [json, tail] = splitBody(expected);
  const differences: string[] = [];
  if (ourJson !== json) {
    let start = 0;
    while (start < json.length && json[start] === ourJson[start]) start++;
    const from = Math.max(0, start - 60);
    differences.push(`body from ${from}: expected ${clip(json.slice(from))}\n      got ${clip(ourJson.slice(from))}`);
  }
  if (!ourTail.equals(tail)) {
    differences.push(`binary: expected ${clip(tail.toString('hex'))}\n      got ${clip(ourTail.toString('hex'))}`);
  }
  return differences;
}

/** The JSON part and the binary part. */
export function splitBody({ body, jsonLength }: HttpAnswer): readonly [string, Buffer] {
  const length = jsonLength === undefined ? body.length : Number(jsonLength);
  return [body.toString('utf8', 0, length), body.subarray(length)];
}
