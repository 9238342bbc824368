// Bytes that nobody would send, and orders of events that nobody thought of. HTTP2_FUZZ_RUNS makes it long, and HTTP2_FUZZ_SEED,
// which a failure names, makes the same run the first.
import { describe, expect, it } from 'vitest';
import { encodeFrame, encodeHeaders, FRAME, setting, uint32, type RawFrame } from '../../test/support/raw-http2.js';
import { frames, REQUEST, TestedHttp2 } from '../../test/support/tested-http2.js';
import { Random } from '../../test/support/random-life/random.js';
import { HpackDecoder } from './hpack/hpack-decoder.js';
import { Http2Error } from './http2-error.js';
import type { Http2Stream } from './http2-stream.js';
import { HeaderTemplate } from './outgoing-headers.js';

const RUNS = Number(process.env['HTTP2_FUZZ_RUNS'] ?? 200);
const SEED = Number(process.env['HTTP2_FUZZ_SEED'] ?? 1);
const TIMEOUT = { timeout: Math.max(60_000, RUNS * 100) };

const HEAD = new HeaderTemplate([':status', '200', 'x', 'y']);
const TRAILERS = new HeaderTemplate(['grpc-status', '0']);
const POST = new HeaderTemplate(REQUEST.flat());

/** Returns how many runs there were. */
function forEachRun(run: (random: Random) => void): number {
  let runs = 0;
  for (let seed = SEED; seed < SEED + RUNS; seed++) {
    try {
      run(new Random(seed));
      runs++;
    } catch (error) {
      throw new Error(`HTTP2_FUZZ_SEED=${seed}: ${(error as Error).message}`, { cause: error });
    }
  }
  return runs;
}

function check(isRight: boolean, otherwise: string): void {
  if (!isRight) throw new Error(otherwise);
}

function bytesOf(random: Random, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => random.integer(0, 255)));
}

/** The bytes in random pieces of memory that is overwritten once it was received, as a socket's is. */
function receiveInPieces(random: Random, tested: TestedHttp2, bytes: Buffer): void {
  for (let at = 0; at < bytes.length;) {
    const end = Math.min(bytes.length, at + random.of([1, 5, 9, 100, 1000, 70_000]));
    const direct = tested.connection.data.directTarget();
    if (direct !== undefined && random.chance(0.5)) {
      const length = Math.min(direct.length, bytes.length - at);
      bytes.copy(direct, 0, at, at + length);
      tested.connection.receive(direct, 0, length);
      at += length;
      continue;
    }
    const memory = Buffer.from(bytes.subarray(at, end));
    tested.receive(memory);
    memory.fill(0xee);
    at = end;
  }
}

const SMALL_IDS = [0, 1, 2, 3, 4, 5, 7, 9, 11, 0x7fffffff];
const NUMBERS = [0, 1, 2, 100, 65_535, 0x7fffffff, 0x80000000, 0xffffffff];
const FIELDS = [...REQUEST, [':status', '200'], ['a', 'b'], ['content-length', '3'], ['te', 'x'], ['A', 'b']] as const;

/** A frame that may be anything, and often is nearly right. */
function randomFrame(random: Random, nextId: number): RawFrame {
  const stream = random.chance(0.7) ? Math.max(1, nextId - 2 * random.integer(0, 3)) : random.of(SMALL_IDS);
  const data = bytesOf(random, random.of([0, 1, 4, 5, 30]));
  switch (
    random.weighted({
      request: 6,
      headers: 2,
      garbage: 1,
      data: 6,
      continuation: 1,
      reset: 2,
      window: 2,
      settings: 1,
      other: 2,
    })
  ) {
    case 'request':
      return {
        ...frames.request(nextId, random.chance(0.5)),
        ...(random.chance(0.1) ? { flags: random.integer(0, 255) } : {}),
      };
    case 'headers':
      return frames.headers(
        stream,
        FIELDS.filter(() => random.chance(0.5)),
        random.chance(0.5),
      );
    case 'garbage':
      return { type: FRAME.HEADERS, flags: random.integer(0, 255), stream, payload: data };
    case 'data':
      return { type: FRAME.DATA, flags: random.of([0, 0, 0, 1, 8, 9]), stream, payload: data };
    case 'continuation':
      return { type: FRAME.CONTINUATION, flags: random.of([0, 4]), stream, payload: encodeHeaders([['c', 'd']]) };
    case 'reset':
      return frames.reset(stream, random.integer(0, 20));
    case 'window':
      return frames.windowUpdate(random.of([0, stream]), random.of(NUMBERS));
    case 'settings':
      return frames.settings(setting(random.integer(0, 8), random.of(NUMBERS)));
    default:
      return {
        type: random.integer(0, 12),
        flags: random.integer(0, 255),
        stream: random.of(SMALL_IDS),
        payload: random.of([data, uint32(random.of(NUMBERS)), Buffer.alloc(8), Buffer.alloc(5)]),
        ...(random.chance(0.05) ? { length: random.integer(0, 40) } : {}),
      };
  }
}

/** What a user may do with a stream, in any order and at any time. */
function act(random: Random, stream: Http2Stream): void {
  switch (random.weighted({ message: 4, headers: 2, data: 4, end: 2, reset: 1, consume: 2, target: 1, hold: 1 })) {
    case 'message':
      stream.sendMessage(HEAD, [bytesOf(random, 5), Buffer.alloc(random.of([0, 10, 70_000]))], TRAILERS);
      break;
    case 'headers':
      stream.sendHeaders(HEAD.with(['z', 'z'.repeat(random.of([0, 10, 40_000]))]), random.chance(0.3));
      break;
    case 'data':
      stream.sendData(Buffer.alloc(random.of([0, 1, 5000, 100_000])), random.chance(0.2));
      break;
    case 'end':
      stream.sendHeaders(TRAILERS, true);
      break;
    case 'reset':
      stream.reset(random.of(['CANCEL', 'NO_ERROR', 'INTERNAL_ERROR']));
      break;
    case 'consume':
      stream.consume(random.integer(0, 100));
      break;
    case 'target':
      stream.receiveInto(new Uint8Array(random.of([0, 3, 40])));
      break;
    case 'hold':
      stream.consumesAtOnce = random.chance(0.5);
  }
}

/** Each stream begins once, ends once, and nothing is told of it after its end. */
function checkOrder(events: readonly string[]): void {
  const ended = new Set<string>();
  for (const event of events) {
    const [kind, id = ''] = event.split(' ');
    if (['headers', 'data', 'filled', 'end', 'drain', 'close'].includes(kind!)) {
      check(!ended.has(id), `${event} after its end`);
      if (kind === 'close') ended.add(id);
    } else if (kind === 'closed') check(!ended.has('connection'), 'a second end of the connection');
    if (kind === 'closed') ended.add('connection');
  }
}

describe('random bytes', () => {
  it('as a header block are fields within their limit, or an error of compression', TIMEOUT, () => {
    const runs = forEachRun((random) => {
      const decoder = new HpackDecoder({ tableSize: 4096, maxListSize: 2000 });
      for (let i = 0; i < 50; i++) {
        const bytes = bytesOf(random, random.integer(0, 60));
        try {
          const { fields } = decoder.decode(bytes, 0, bytes.length);
          const size = fields.reduce((sum, text) => sum + text.length, (fields.length / 2) * 32);
          check(size <= 2000, `a list of ${size} bytes`);
        } catch (error) {
          if (!(error instanceof Http2Error)) throw error;
          check(error.code === 'COMPRESSION_ERROR', error.code);
        }
      }
    });
    expect(runs).toBe(RUNS);
  });

  it('are taken by a connection, or end it', TIMEOUT, () => {
    const runs = forEachRun((random) => {
      const tested = random.chance(0.3) ? new TestedHttp2('server') : TestedHttp2.open(random.of(['server', 'client']));
      for (let i = 0; i < 20; i++) tested.receive(bytesOf(random, random.integer(1, 40)));
      tested.sent();
      checkOrder(tested.events);
    });
    expect(runs).toBe(RUNS);
  });
});

describe('random frames', () => {
  it('to users who do anything leave the connection sound, or end it', TIMEOUT, () => {
    const runs = forEachRun((random) => {
      const role = random.of(['server', 'client'] as const);
      const options = {
        maxConcurrentStreams: 5,
        maxQueuedBytes: 1 << 20,
        streamWindow: random.of([10, 65_535, 1 << 20]),
      };
      const tested = TestedHttp2.open(role, { options });
      const { connection } = tested;
      const streams: Http2Stream[] = [];
      for (let i = 0, nextId = 1; i < 60; i++) {
        if (role === 'client' && connection.canOpenStream && random.chance(0.3)) {
          const listener = tested.listenerOf({ id: nextId });
          streams.push(connection.openStream(POST, listener, random.chance(0.5)));
        }
        receiveInPieces(random, tested, encodeFrame(randomFrame(random, nextId)));
        nextId = Math.max(nextId, connection.streams.lastPeerId, ...streams.map(({ id }) => id)) + 2;
        const known = role === 'client' ? streams : [...tested.streams.values()];
        if (known.length > 0 && random.chance(0.5)) act(random, random.of(known.slice(-5)));
        if (random.chance(0.05)) connection.sender.isCongested = !connection.sender.isCongested;
        if (random.chance(0.02)) connection.drain();
        if (random.chance(0.02)) connection.ping(() => undefined);
        if (random.chance(0.1)) connection.tick(i * 100);
        // What is sent is frames, one after the other, and header blocks that can be decoded.
        if (random.chance(0.3)) tested.sent();
        expect(connection.streams.size).toBeLessThanOrEqual(role === 'client' ? 100 : 5);
        expect(connection.queuedBytes).toBeLessThanOrEqual(2 << 20);
        expect(connection.queuedBytes).toBe(
          connection.streams.all().reduce((sum, { queuedBytes }) => sum + queuedBytes, 0),
        );
      }
      connection.lost();
      tested.sent();
      checkOrder(tested.events);
      expect([connection.streams.size, connection.queuedBytes]).toEqual([0, 0]);
    });
    expect(runs).toBe(RUNS);
  });
});

/** The bytes of a message: each can be told by where it stands. */
function contentOf(id: number, from: number, to: number): Buffer {
  const bytes = Buffer.allocUnsafe(to - from);
  for (let at = from; at < to; at++) bytes[at - from] = id * 31 + at * 7 + (at >> 8);
  return bytes;
}

describe('a client and a server of ours', () => {
  it('understand each other whatever their users do, and lose and change nothing', TIMEOUT, () => {
    const runs = forEachRun((random) => {
      const streamWindow = random.of([7, 100, 65_535, 1 << 20]);
      const options = () => ({
        streamWindow,
        connectionWindow: random.of([65_535, 1 << 20]),
        maxFrameSize: random.of([16_384, 100_000]),
        headerTableSize: random.of([0, 100, 4096]),
        maxConcurrentStreams: random.of([1, 4, 100]),
        floodCredit: 1e9,
      });
      // A window is used a few hundred times by the longest.
      const messages = new Exchange(random, Math.min(70_000, streamWindow * 100));
      const server: TestedHttp2 = new TestedHttp2('server', {
        options: options(),
        streamListener: (stream) =>
          messages.receiver(stream, 'request', Number(server.headers.get(stream.id)!.get('length'))),
      });
      const client = new TestedHttp2('client', { options: options() });
      const pass = () => {
        const [toServer, toClient] = [client.sentBytes(), server.sentBytes()];
        receiveInPieces(random, server, toServer);
        receiveInPieces(random, client, toClient);
        return toServer.length + toClient.length > 0;
      };
      for (let step = 0; step < 40; step++) {
        if (client.connection.canOpenStream && random.chance(0.4)) messages.open(client);
        messages.write();
        if (random.chance(0.05)) server.connection.sender.isCongested = !server.connection.sender.isCongested;
        if (random.chance(0.01)) server.connection.drain();
        if (random.chance(0.7)) pass();
      }
      server.connection.sender.isCongested = false;
      messages.finish();
      while (pass() || messages.write()) messages.finish();
      expect(messages.unfinished).toEqual([]);
      for (const tested of [server, client]) {
        expect(tested.events.filter((event) => /(?<!NO_)ERROR|CALM|thrown/.test(event))).toEqual([]);
        expect(tested.connection.streams.size).toBe(0);
        expect(tested.connection.queuedBytes).toBe(0);
      }
    });
    expect(runs).toBe(RUNS);
  });
});

interface Sending {
  readonly stream: Http2Stream;
  readonly length: number;
  sent: number;
  readonly trailers: boolean;
}

/** Requests of random lengths, each answered with as many bytes, written and read in random portions. */
class Exchange {
  readonly #random: Random;
  readonly #sending: Sending[] = [];
  /** Streams of each side whose message is not complete. */
  readonly #expected = new Map<string, number>();
  readonly #receiving: Http2Stream[] = [];
  #isFinishing = false;

  readonly #longest: number;

  constructor(random: Random, longest: number) {
    this.#random = random;
    this.#longest = longest;
  }

  get unfinished(): readonly string[] {
    return [...this.#expected.keys()];
  }

  open(client: TestedHttp2): void {
    const random = this.#random;
    const length = random.of([0, 1, 100, 5000, this.#longest].filter((one) => one <= this.#longest));
    const holder: { stream?: Http2Stream } = {};
    const listener = client.listenerOf({ id: 0 });
    const receiver = () => this.receiver(holder.stream!, 'answer', length);
    let made: ReturnType<Exchange['receiver']> | undefined;
    const stream = client.connection.openStream(POST.with(['length', String(length)]), {
      ...listener,
      onHeaders: () => undefined,
      onData: (chunk) => (made ??= receiver()).onData(chunk),
      onFilled: () => made!.onFilled(),
      onEnd: () => (made ??= receiver()).onEnd(),
      onClose: (error) => {
        if (error !== undefined) this.#expected.delete(`answer ${stream.id}`);
        if (error !== undefined) client.events.push(`close ${stream.id} ${error.code}`);
      },
    });
    holder.stream = stream;
    this.#expected.set(`answer ${stream.id}`, length);
    this.#sending.push({ stream, length, sent: 0, trailers: random.chance(0.3) });
  }

  /** Reads a message, and answers it when it is a request. */
  receiver(stream: Http2Stream, kind: 'request' | 'answer', length: number) {
    const random = this.#random;
    let received = 0;
    this.#receiving.push(stream);
    let target: Uint8Array | undefined;
    stream.consumesAtOnce = random.chance(0.5);
    const check = (bytes: Uint8Array) => {
      const expected = contentOf(stream.id, received, received + bytes.length);
      if (!expected.equals(bytes)) throw new Error(`other bytes than were sent, from ${received} on`);
      received += bytes.length;
    };
    return {
      onData: (chunk: Buffer) => {
        check(chunk);
        if (!stream.consumesAtOnce && random.chance(0.8)) stream.consume(random.of([1, chunk.length, 1e6]));
        const size = Math.min(length - received, random.of([1, 50, 40_000]));
        if (size > 0 && random.chance(0.2)) stream.receiveInto((target = new Uint8Array(size)));
      },
      onFilled: () => check(target!),
      onHeaders: () => undefined,
      onEnd: () => {
        if (received !== length) throw new Error(`${received} bytes, expected ${length}`);
        if (kind === 'request')
          this.#sending.push({ stream, length: received, sent: -1, trailers: random.chance(0.5) });
        else {
          this.#expected.delete(`answer ${stream.id}`);
        }
      },
    };
  }

  /** Sends some of what is to be sent. */
  write(): boolean {
    const random = this.#random;
    let hasWritten = false;
    for (const one of this.#sending.slice()) {
      if (!this.#isFinishing && random.chance(0.5)) continue;
      hasWritten = true;
      if (one.sent < 0) {
        one.stream.sendHeaders(HEAD);
        one.sent = 0;
      }
      const end = this.#isFinishing ? one.length : Math.min(one.length, one.sent + random.of([1, 1000, 70_000]));
      const isLast = end === one.length;
      one.stream.sendData(contentOf(one.stream.id, one.sent, end), isLast && !one.trailers);
      one.sent = end;
      if (!isLast) continue;
      if (one.trailers) one.stream.sendHeaders(TRAILERS, true);
      this.#sending.splice(this.#sending.indexOf(one), 1);
    }
    return hasWritten;
  }

  /** From now on everything is written, and consumed. */
  finish(): void {
    this.#isFinishing = true;
    for (const stream of this.#receiving) stream.consume(1e9);
  }
}
