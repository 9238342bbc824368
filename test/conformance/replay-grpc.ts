// Sends recorded gRPC messages over a plain HTTP/2 client, one stream per case, and holds the answers against the
// recorded ones: status, message, metadata, and the response to the byte where the server's bytes are stable,
// else as canonical JSON. The message schemas are the protocol's own; nothing of the server decodes here.
import { connect, constants, type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2';
import { setTimeout as delay } from 'node:timers/promises';
import { deflateSync, gzipSync } from 'node:zlib';
import { fromBinary, toJson, type DescMessage } from '@bufbuild/protobuf';
import { Health } from '../support/generated/health_pb.js';
import { GRPCInferenceService } from '../support/generated/grpc_service_pb.js';
import { ServerReflection } from '../support/generated/reflection_v1_pb.js';
import { ServerReflection as ServerReflectionAlpha } from '../support/generated/reflection_v1alpha_pb.js';
import { WAIT_MILLISECONDS } from '../support/waiting.js';
import type { GrpcCase } from './cases.js';
import { deadlineOf, exchangeStream, isStreamCase } from './grpc-stream-exchange.js';
import { clip, Verdict, type Replay, type Rule } from './rules.js';
import { inSimulatedTime, roundTrips } from './simulated-time.js';

export interface GrpcAnswer {
  /** The gRPC status; undefined when the stream ended without one. */
  readonly code: number | undefined;
  readonly message: string;
  /** Names of headers and trailers beside those of the protocol itself. */
  readonly metadata: readonly string[];
  /** The response as protobuf's JSON with the proto's field names; of streams a list. */
  readonly json: Json;
  /** The serialized response; undefined where the recorded bytes depend on the order of a map. */
  readonly bytes: Buffer | undefined;
}

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type GrpcRule = Rule<GrpcCase, GrpcAnswer>;

const PROTOCOL_HEADERS = /^(:status|content-type|grpc-(status|message|encoding|accept-encoding))$/;
/** In real time deadlines are longer than the recorded ones, so that there are responses by then on a slow machine too. */
const PATIENCE = 6;
const CANCELLED = 1;
const DEADLINE_EXCEEDED = 4;
const UNAVAILABLE = 14;
const MEANWHILE: readonly unknown[] = [DEADLINE_EXCEEDED, UNAVAILABLE];

const SCHEMAS = new Map<string, DescMessage>(
  [GRPCInferenceService, Health, ServerReflection, ServerReflectionAlpha].flatMap((service) =>
    service.methods.map((method): [string, DescMessage] => [`/${service.typeName}/${method.name}`, method.output]),
  ),
);

export interface GrpcReplayOptions {
  readonly port: number;
  readonly rules: readonly GrpcRule[];
  /** Whether the server is in this thread, so that its deadlines come in simulated time. */
  readonly simulated: boolean;
  /** Is told of the answers that come while a model is busy: to requests that find its queue full, or end before it. */
  readonly onMeanwhile: (answers: Promise<unknown>) => void;
}

export async function replayGrpc(cases: readonly GrpcCase[], options: GrpcReplayOptions): Promise<Replay> {
  const { port, rules, simulated, onMeanwhile } = options;
  const verdict = new Verdict<GrpcCase, GrpcAnswer>(rules, differencesOf);
  const session = connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: 64 * 1024 * 1024 } });
  session.on('error', () => undefined);
  try {
    for (let start = 0; start < cases.length;) {
      const burst = burstAt(cases, start);
      const asking = askBurst(burst, session, (testCase) =>
        settled(testCase, verdict, () => exchange(session, testCase, simulated)),
      );
      const isMeanwhile = (_: unknown, index: number) => MEANWHILE.includes(burst[index]!.response.status_code);
      onMeanwhile(asking.then((asked) => Promise.all(asked.filter(isMeanwhile))));
      const answers = await Promise.all(await asking);
      burst.forEach((testCase, index) => {
        const ours = mask(answers[index]!, testCase);
        verdict.add({ testCase, recorded: comparableRecorded(testCase), ours });
      });
      start += burst.length;
    }
  } finally {
    session.destroy();
  }
  return verdict.replay();
}

/** Begins with a request when those before it are where they belong. */
async function askBurst(
  burst: readonly GrpcCase[],
  session: ClientHttp2Session,
  ask: (testCase: GrpcCase) => Promise<GrpcAnswer>,
): Promise<readonly Promise<GrpcAnswer>[]> {
  const asked: Promise<GrpcAnswer>[] = [];
  for (const testCase of burst) {
    asked.push(ask(testCase));
    if (burst.length > 1) await roundTrips(session);
  }
  return asked;
}

/** Statistics that an execution on its way to its end will change: whoever asks for them then asks until it has ended. */
const SETTLING = ['statistics of slowcount at the end'];
const SETTLING_POLL_MS = 20;
const SETTLE_LIMIT = WAIT_MILLISECONDS / SETTLING_POLL_MS;

async function settled(
  testCase: GrpcCase,
  verdict: Verdict<GrpcCase, GrpcAnswer>,
  ask: () => Promise<GrpcAnswer>,
): Promise<GrpcAnswer> {
  const recorded = comparableRecorded(testCase);
  let answer = await ask();
  for (let asked = 1; SETTLING.includes(testCase.name) && asked < SETTLE_LIMIT; asked++) {
    if (verdict.accepts({ testCase, recorded, ours: mask(answer, testCase) })) break;
    await delay(SETTLING_POLL_MS);
    answer = await ask();
  }
  return answer;
}

/** Cases that were sent together, one shortly after the other, carry a note that says so. */
function burstAt(cases: readonly GrpcCase[], start: number): readonly GrpcCase[] {
  const first = cases[start]!;
  const burstName = /^(.*), request \d+$/.exec(first.name)?.[1];
  if (burstName === undefined) return [first];
  let end = start + 1;
  while (cases[end]?.name.startsWith(`${burstName}, request `) === true) end++;
  return cases.slice(start, end);
}

function recordedAnswer(testCase: GrpcCase): GrpcAnswer {
  const { response, varies } = testCase;
  const metadata = [...response.initial_metadata, ...response.trailing_metadata].map(([name]) => name);
  const status = { code: response.status_code, message: response.message, metadata };
  if (testCase.request_rule !== undefined) return { ...status, json: null, bytes: zerosMessage(testCase) };
  const { body_base64: body } = response;
  if (isStreamCase(testCase)) {
    const messages = typeof body === 'string' ? [body] : (body ?? []);
    const bytes = messages.map((message) => Buffer.from(message, 'base64'));
    return { ...status, json: (response.body ?? []) as Json, bytes: concat(bytes) };
  }
  const bytes = typeof body !== 'string' ? undefined : Buffer.from(body, 'base64');
  return {
    ...status,
    // Answers of the health service were kept as bytes only.
    json: bytes === undefined ? null : ((response.body ?? decode(testCase, bytes)) as Json),
    bytes: varies.includes('response.body_base64') ? undefined : bytes,
  };
}

/** The recorded answer without what no two recordings share. */
export function comparableRecorded(testCase: GrpcCase): GrpcAnswer {
  return mask(recordedAnswer(testCase), testCase);
}

/** Which of the long cases: their request and response are one tensor of zeros, told by its size. */
function zerosTensor({ request_rule: rule = '' }: GrpcCase): { readonly count: number; readonly data: Buffer } {
  const count = Number(/shape \[1,(\d+)\]/.exec(rule)?.[1]);
  return { count, data: Buffer.alloc(4 * count) };
}

function zerosMessage(testCase: GrpcCase): Buffer {
  const { count, data } = zerosTensor(testCase);
  const body = encodeZeros({ model: 'id_fp32', version: '1', tensor: 'y', tensors: 5, raw: 6 }, count, data);
  if (body.length !== testCase.response.body_bytes) throw new Error(`${testCase.name}: made ${body.length} bytes`);
  return body;
}

function requestMessage(testCase: GrpcCase): Buffer {
  if (testCase.request_rule === undefined) return Buffer.from((testCase.request_base64 ?? '') as string, 'base64');
  const { count, data } = zerosTensor(testCase);
  const message = encodeZeros({ model: 'id_fp32', version: undefined, tensor: 'x', tensors: 5, raw: 7 }, count, data);
  if (message.length !== testCase.request_bytes) throw new Error(`${testCase.name}: made ${message.length} bytes`);
  return message;
}

interface ZerosLayout {
  readonly model: string;
  readonly version: string | undefined;
  readonly tensor: string;
  /** Field numbers of the list of tensors and of the raw contents. */
  readonly tensors: number;
  readonly raw: number;
}

function encodeZeros({ model, version, tensor, tensors, raw }: ZerosLayout, count: number, data: Buffer): Buffer {
  const field = (number: number, content: Buffer) =>
    Buffer.concat([varint((number << 3) | 2), varint(content.length), content]);
  const text = (number: number, value: string) => field(number, Buffer.from(value));
  const description = Buffer.concat([
    text(1, tensor),
    text(2, 'FP32'),
    field(3, Buffer.concat([varint(1), varint(count)])),
  ]);
  return Buffer.concat([
    text(1, model),
    ...(version === undefined ? [] : [text(2, version)]),
    field(tensors, description),
    field(raw, data),
  ]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) | 128);
  }
}

async function exchange(session: ClientHttp2Session, testCase: GrpcCase, simulated: boolean): Promise<GrpcAnswer> {
  const deadline = deadlineOf(testCase);
  if (deadline === undefined) return exchangeNow(session, testCase);
  if (!simulated) return exchangeNow(session, testCase, PATIENCE * deadline);
  return inSimulatedTime(session, deadline, () => exchangeNow(session, testCase, deadline));
}

async function exchangeNow(session: ClientHttp2Session, testCase: GrpcCase, deadline?: number): Promise<GrpcAnswer> {
  if (!isStreamCase(testCase)) return exchangeUnary(session, testCase, deadline);
  const { messages, headers, cancelled } = await exchangeStream(session, testCase, deadline);
  const status = statusOf(headers, cancelled ? CANCELLED : undefined);
  return {
    ...status,
    message: cancelled ? 'Locally cancelled by application!' : status.message,
    json: messages.map((message) => decode(testCase, message)),
    bytes: concat(messages),
  };
}

/** Messages one behind the other, each with its length, so that two lists are alike only when each message is. */
function concat(messages: readonly Buffer[]): Buffer {
  return Buffer.concat(messages.flatMap((message) => [Buffer.from(`${message.length}:`), message]));
}

function exchangeUnary(session: ClientHttp2Session, testCase: GrpcCase, deadline?: number): Promise<GrpcAnswer> {
  const encoding = /with (gzip|deflate)$/.exec(testCase.name)?.[1];
  const plain = requestMessage(testCase);
  const message = encoding === undefined ? plain : encoding === 'gzip' ? gzipSync(plain) : deflateSync(plain);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(encoding === undefined ? 0 : 1);
  prefix.writeUInt32BE(message.length, 1);
  return new Promise((resolve) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': testCase.method,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...(encoding === undefined ? {} : { 'grpc-encoding': encoding }),
      ...(deadline === undefined ? {} : { 'grpc-timeout': `${deadline}m` }),
      ...Object.fromEntries(testCase.metadata),
    });
    const received: Buffer[] = [];
    let headers: IncomingHttpHeaders = {};
    const settle = (code?: number) => {
      clearTimeout(timer);
      resolve(answerOf(testCase, headers, Buffer.concat(received), code));
    };
    const timer = setTimeout(() => {
      stream.close(constants.NGHTTP2_CANCEL);
      settle(DEADLINE_EXCEEDED);
    }, WAIT_MILLISECONDS);
    stream.on('response', (initial) => (headers = { ...headers, ...initial }));
    stream.on('trailers', (trailers) => (headers = { ...headers, ...trailers }));
    stream.on('data', (chunk: Buffer) => received.push(chunk));
    stream.on('error', () => undefined);
    stream.on('close', () => settle());
    stream.end(Buffer.concat([prefix, message]));
  });
}

function answerOf(
  testCase: GrpcCase,
  headers: IncomingHttpHeaders,
  body: Buffer,
  madeCode: number | undefined,
): GrpcAnswer {
  const bytes = body.length < 5 ? undefined : body.subarray(5, 5 + body.readUInt32BE(1));
  return {
    ...statusOf(headers, madeCode),
    json: bytes === undefined || testCase.request_rule !== undefined ? null : decode(testCase, bytes),
    bytes,
  };
}

function statusOf(
  headers: IncomingHttpHeaders,
  madeCode: number | undefined,
): Pick<GrpcAnswer, 'code' | 'message' | 'metadata'> {
  const status = headers['grpc-status'];
  const message = headers['grpc-message'];
  return {
    code: madeCode ?? (status === undefined ? undefined : Number(status)),
    message: typeof message === 'string' ? decodeURIComponent(message) : '',
    metadata: Object.keys(headers).filter((name) => !PROTOCOL_HEADERS.test(name)),
  };
}

function decode({ method }: GrpcCase, bytes: Buffer): Json {
  const schema = SCHEMAS.get(method);
  return schema === undefined ? null : (toJson(schema, fromBinary(schema, bytes), { useProtoFieldName: true }) as Json);
}

/** Puts 1 in the place of the times in statistics, which no two recordings share. */
function mask(answer: GrpcAnswer, { method }: GrpcCase): GrpcAnswer {
  if (!method.endsWith('/ModelStatistics')) return answer;
  const json = JSON.stringify(answer.json, (key, value: Json) =>
    key === 'ns' || key === 'last_inference' ? '1' : value,
  );
  return { ...answer, json: JSON.parse(json) as Json };
}

export function differencesOf(ours: GrpcAnswer, expected: GrpcAnswer): string[] {
  const differences: string[] = [];
  if (ours.code !== expected.code) differences.push(`status: expected ${expected.code}, got ${ours.code}`);
  if (ours.message !== expected.message) {
    differences.push(`message: expected ${clip(expected.message)}\n      got ${clip(ours.message)}`);
  }
  if (ours.metadata.join() !== expected.metadata.join()) {
    differences.push(`metadata: expected ${expected.metadata.join() || 'none'}, got ${ours.metadata.join()}`);
  }
  const [ourJson, json] = [canonical(ours.json), canonical(expected.json)];
  if (ourJson !== json) {
    let start = 0;
    while (start < json.length && json[start] === ourJson[start]) start++;
    const from = Math.max(0, start - 60);
    differences.push(
      `response from ${from}: expected ${clip(json.slice(from))}\n      got ${clip(ourJson.slice(from))}`,
    );
  } else if (expected.json === null && expected.bytes === undefined && ours.bytes !== undefined) {
    differences.push(`a message of ${ours.bytes.length} bytes where there is none`);
  } else if (expected.bytes !== undefined && ours.bytes?.equals(expected.bytes) !== true) {
    differences.push(
      `bytes: expected ${clip(expected.bytes.toString('hex'))}\n      got ${clip(ours.bytes?.toString('hex') ?? 'nothing')}`,
    );
  }
  return differences;
}

/** JSON with sorted keys. */
function canonical(json: Json): string {
  return JSON.stringify(json, (_key, value: Json) =>
    value !== null && typeof value === 'object' && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}
