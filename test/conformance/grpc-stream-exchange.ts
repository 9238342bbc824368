// One recorded stream: what the client did is done again, step by step, and what comes back is collected.
import { constants, type ClientHttp2Session, type ClientHttp2Stream, type IncomingHttpHeaders } from 'node:http2';
import { setTimeout as delay } from 'node:timers/promises';
import { WAIT_MILLISECONDS } from '../support/waiting.js';
import type { GrpcCase } from './cases.js';

/** What came back: the serialized messages, and the headers and trailers. */
export interface StreamAnswer {
  readonly messages: readonly Buffer[];
  readonly headers: IncomingHttpHeaders;
  /** Whether the client ended the stream of itself. */
  readonly cancelled: boolean;
}

const WATCH_STEPS = ['send 0', 'half-close', 'until 1 responses have come', 'cancel'];
const PLAIN_STEPS = ['send 0', 'half-close'];

/** Whether a case is a call with streams of messages. */
export function isStreamCase({ method }: GrpcCase): boolean {
  return /\/(ModelStreamInfer|Watch|ServerReflectionInfo)$/.test(method);
}

/** After how many milliseconds the client of a case gives up; undefined when it does not. */
export function deadlineOf({ note }: GrpcCase): number | undefined {
  const [, milliseconds] = /client deadline (\d+) ms/.exec(note) ?? [];
  return milliseconds === undefined ? undefined : Number(milliseconds);
}

/** With this deadline in milliseconds, if any, whatever the recorded one was. */
export async function exchangeStream(
  session: ClientHttp2Session,
  testCase: GrpcCase,
  deadline: number | undefined,
): Promise<StreamAnswer> {
  const headers: Record<string, string | string[]> = {
    ':method': 'POST',
    ':path': testCase.method,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...(deadline === undefined ? {} : { 'grpc-timeout': `${deadline}m` }),
  };
  for (const [name, value] of testCase.metadata) {
    const before = headers[name];
    headers[name] = before === undefined ? value : [before, value].flat();
  }
  const stream = session.request(headers, { endStream: false });
  const incoming = new IncomingMessages(stream);
  const timer = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), WAIT_MILLISECONDS);
  const requests = requestsOf(testCase);
  const steps = testCase.steps ?? (testCase.method.endsWith('/Watch') ? WATCH_STEPS : PLAIN_STEPS);
  let cancelled = false;
  for (const step of steps) {
    const [, send] = /^send (\d+)$/.exec(step) ?? [];
    const [, wait] = /^wait (\d+) ms$/.exec(step) ?? [];
    const [, count] = /^until (\d+) responses have come$/.exec(step) ?? [];
    if (send !== undefined) {
      if (!stream.closed) stream.write(frameOf(requests[Number(send)] ?? ''));
    } else if (wait !== undefined) await Promise.race([delay(Number(wait)), incoming.ended]);
    else if (count !== undefined) await incoming.until(Number(count));
    else if (step === 'half-close') {
      if (!stream.closed) stream.end();
    } else if (step === 'cancel') {
      cancelled = !stream.closed;
      stream.close(constants.NGHTTP2_CANCEL);
    } else throw new Error(`${testCase.name}: step '${step}'`);
  }
  await incoming.ended;
  clearTimeout(timer);
  return { messages: incoming.messages, headers: incoming.headers, cancelled };
}

function requestsOf({ request_base64: request }: GrpcCase): readonly string[] {
  return typeof request === 'string' || request === null ? [request ?? ''] : [...request];
}

function frameOf(base64: string): Buffer {
  const message = Buffer.from(base64, 'base64');
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

class IncomingMessages {
  readonly messages: Buffer[] = [];
  readonly ended: Promise<void>;
  headers: IncomingHttpHeaders = {};
  #rest = Buffer.alloc(0);
  #over = false;
  #onChange: () => void = () => undefined;

  constructor(stream: ClientHttp2Stream) {
    stream.on('response', (headers) => (this.headers = { ...this.headers, ...headers }));
    stream.on('trailers', (trailers) => (this.headers = { ...this.headers, ...trailers }));
    stream.on('data', (chunk: Buffer) => this.#read(chunk));
    stream.on('error', () => undefined);
    this.ended = new Promise((resolve) =>
      stream.on('close', () => {
        this.#over = true;
        this.#onChange();
        resolve();
      }),
    );
  }

  /** Resolves when so many messages have come, or no more will. */
  until(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#onChange = () => {
        if (this.messages.length >= count || this.#over) resolve();
      };
      this.#onChange();
    });
  }

  #read(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length >= 5 && this.#rest.length >= 5 + this.#rest.readUInt32BE(1)) {
      const end = 5 + this.#rest.readUInt32BE(1);
      this.messages.push(this.#rest.subarray(5, end));
      this.#rest = this.#rest.subarray(end);
    }
    this.#onChange();
  }
}
