// What hostile clients do, by name: each holds on to the server for some seconds and says what became of it. For the suite
// hostile-clients, which measures memory and outcomes; what blows at a fixed rate cost a good client's latency is the suite attacks
// (attack-wire.ts). They run in a process of their own (besieger.ts), so that what they cost is not taken for the server's.

import { closeSync, ftruncateSync, openSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { deflateSync, gzipSync } from 'node:zlib';

import { FLAG, FRAME, frame, framed, PREFACE, SETTING, settings } from './http2-frames.js';

export interface Target {
  readonly http: number;
  readonly grpc: number;
  readonly milliseconds: number;
}

interface Siege {
  readonly about: string;
  /** The server's ports have TLS. */
  readonly isSecure?: boolean;
  /** The outcome in words. */
  run(target: Target): Promise<string>;
}

const MIB = 1 << 20;
const LENGTH = 'inference-header-content-length';
const FLOATS = '/v2/models/floats/infer';
/** The good client has another one. */
const ANOTHER_ADDRESS = '127.0.0.2';
const REGISTERED_MS = 200;
/** After the last probe. */
const PROBE_MS = 1000;
/** The head of a record of TLS, which says 200 bytes, and the first of these. */
const HALF_GREETING = Buffer.from([0x16, 3, 1, 0, 200, 1]);

/** A socket that counts the answers of HTTP by status, and says how it ended. */
class Line {
  readonly socket: Socket;
  readonly statuses = new Map<string, number>();
  bytes = 0;
  #isClosed = false;
  readonly #isGrpc: boolean;

  constructor(port: number, { reads = true, isGrpc = false, localAddress = '127.0.0.1' } = {}) {
    this.#isGrpc = isGrpc;
    this.socket = connect({ host: '127.0.0.1', port, localAddress });
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => (this.#isClosed = true));
    if (reads) this.socket.on('data', (chunk) => this.#read(chunk));
    else this.socket.pause();
  }

  get outcome(): string {
    const counts = [...this.statuses].map(([status, times]) => (times === 1 ? status : `${status} × ${times}`));
    return [...counts, this.#isClosed ? 'closed' : 'open'].join(', ');
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** As fast as the other side takes it. */
  async write(chunk: Buffer): Promise<void> {
    if (this.socket.destroyed || this.socket.write(chunk)) return;
    await new Promise<void>((resolve) => {
      const go = () => {
        this.socket.off('drain', go);
        this.socket.off('close', go);
        resolve();
      };
      this.socket.once('drain', go);
      this.socket.once('close', go);
    });
  }

  #read(chunk: Buffer): void {
    this.bytes += chunk.length;
    const text = chunk.toString('latin1');
    const found = this.#isGrpc
      ? (text.match(/too many[\w ]*|[\w ]*beyond[\w ]*|RESOURCE_EXHAUSTED/g) ?? [])
      : [...text.matchAll(/HTTP\/1\.1 ([0-9]{3})/g)].map((match) => match[1]!);
    for (const status of found) this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
  }
}

function summary(lines: readonly Line[]): string {
  const counts = new Map<string, number>();
  for (const { outcome } of lines) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  return [...counts].map(([outcome, times]) => `${times} × (${outcome})`).join('; ');
}

async function hold(lines: readonly Line[], milliseconds: number): Promise<string> {
  const end = performance.now() + milliseconds;
  // oxlint-disable-next-line no-await-in-loop -- one look after the other
  while (performance.now() < end && lines.some((line) => !line.isClosed)) await sleep(50);
  const outcome = summary(lines);
  for (const { socket } of lines) socket.destroy();
  return outcome;
}

function post(path: string, length: number, headers = ''): Buffer {
  return Buffer.from(headOf(path, length, headers));
}

function headOf(path: string, length: number, headers = ''): string {
  return `POST ${path} HTTP/1.1\r\nhost: h\r\ncontent-length: ${length}\r\n${headers}\r\n`;
}

function lines(count: number, make: (i: number) => Line): readonly Line[] {
  return Array.from({ length: count }, (_, i) => make(i));
}

function greeting(values: readonly (readonly [number, number])[] = []): Buffer {
  return Buffer.concat([PREFACE, settings(values)]);
}

function call(streamId: number, encoding?: string): Buffer {
  const block = requestBlock('/inference.GRPCInferenceService/ModelInfer', encoding);
  return frame(FRAME.HEADERS, FLAG.END_HEADERS, streamId, block);
}

/** A header block of plain literals. */
function requestBlock(path: string, encoding: string | undefined): Buffer {
  const fields = {
    ':method': 'POST',
    ':scheme': 'http',
    ':path': path,
    ':authority': 'h',
    'content-type': 'application/grpc',
    te: 'trailers',
    ...(encoding === undefined ? {} : { 'grpc-encoding': encoding }),
  };
  const text = (value: string) => Buffer.concat([Buffer.of(value.length), Buffer.from(value)]);
  return Buffer.concat(Object.entries(fields).flatMap(([name, value]) => [Buffer.of(0), text(name), text(value)]));
}

function data(streamId: number, payload: Buffer, flags = 0): Buffer {
  return frame(FRAME.DATA, flags, streamId, payload);
}

/** A message that asks the model `large` for so many bytes. */
function wanted(bytes: number): Buffer {
  const contents = Buffer.alloc(4);
  contents.writeInt32LE(bytes);
  const field = (number: number, content: Buffer | string) => {
    const value = Buffer.from(content);
    return Buffer.concat([Buffer.of(number * 8 + 2, value.length), value]);
  };
  const input = Buffer.concat([field(1, 'x'), field(2, 'INT32'), field(3, Buffer.of(1))]);
  const message = Buffer.concat([field(1, 'large'), field(5, input), field(7, contents)]);
  return framed(message);
}

/** Shared memory without a page. */
class SparseRegion {
  readonly name: string;
  readonly byteSize: number;

  constructor(byteSize: number) {
    this.name = `tstriton-bench-${process.pid}-${byteSize}`;
    this.byteSize = byteSize;
    const file = openSync(`/dev/shm/${this.name}`, 'w+');
    ftruncateSync(file, byteSize);
    closeSync(file);
  }

  remove(): void {
    rmSync(`/dev/shm/${this.name}`);
  }
}

export const SIEGES: Readonly<Record<string, Siege>> = {
  'gzip-bombs': {
    about: '32 gzip bodies of 65 kB that inflate to 64 MB each, again and again',
    async run({ http, milliseconds }) {
      const body = gzipSync(Buffer.alloc(64 * MIB - 64, ' '));
      const head = post('/v2/models/floats/infer', body.length, 'content-encoding: gzip\r\n');
      const all = lines(32, () => new Line(http));
      for (const { socket } of all) socket.write(Buffer.concat([head, body, head, body]));
      return hold(all, milliseconds);
    },
  },
  'grpc-bombs': {
    about: 'four gRPC messages of 1 MB that inflate to 1 GB',
    async run({ grpc, milliseconds }) {
      const body = deflateSync(Buffer.alloc(1000 * MIB));
      const message = framed(body, { isCompressed: true });
      const all = lines(4, () => new Line(grpc, { isGrpc: true }));
      for (const line of all) {
        line.socket.write(Buffer.concat([greeting(), call(1, 'deflate')]));
        for (let at = 0; at < message.length; at += 16_384) {
          const part = message.subarray(at, at + 16_384);
          line.socket.write(data(1, part, at + 16_384 >= message.length ? FLAG.END_STREAM : 0));
        }
      }
      return hold(all, milliseconds);
    },
  },
  uploads: {
    about: 'six uploads of 400 MB that stop before their end',
    async run({ http, milliseconds }) {
      const part = Buffer.alloc(MIB);
      const all = lines(6, () => new Line(http));
      await Promise.all(
        all.map(async (line) => {
          line.socket.write(post('/v2/models/floats/infer', 400 * MIB, `${LENGTH}: 100\r\n`));
          // oxlint-disable-next-line no-await-in-loop -- one after the other
          for (let sent = 0; sent < 399 && !line.isClosed; sent++) await line.write(part);
        }),
      );
      return hold(all, milliseconds);
    },
  },
  inputs: {
    about: 'a million inputs in 60 MB of JSON, on four connections',
    async run({ http, milliseconds }) {
      const input = Buffer.from('{"name":"x","datatype":"FP32","shape":[1],"data":[1.25]},'.repeat(10_000));
      const head = '{"inputs":[';
      const all = lines(4, () => new Line(http));
      await Promise.all(
        all.map(async (line) => {
          line.socket.write(post('/v2/models/floats/infer', head.length + 100 * input.length + 3));
          line.socket.write(head);
          // oxlint-disable-next-line no-await-in-loop -- one after the other
          for (let i = 0; i < 100; i++) await line.write(input);
          line.socket.write('1]}');
        }),
      );
      return hold(all, milliseconds);
    },
  },
  'unread-http': {
    about: '400 pipelined requests for 4 MB each on four connections, unread',
    async run({ http, milliseconds }) {
      const json =
        '{"inputs":[{"name":"x","datatype":"INT32","shape":[1],"data":[4000000]}],"parameters":{"binary_data_output":true}}';
      const request = Buffer.concat([post('/v2/models/large/infer', json.length), Buffer.from(json)]);
      const all = lines(4, () => new Line(http, { reads: false }));
      for (const { socket } of all) socket.write(Buffer.concat(Array.from({ length: 400 }, () => request)));
      return hold(all, milliseconds);
    },
  },
  'unread-grpc': {
    about: '1,000 calls for 2 MB each with a window of 0',
    async run({ grpc, milliseconds }) {
      const line = new Line(grpc, { isGrpc: true });
      line.socket.write(greeting([[SETTING.INITIAL_WINDOW_SIZE, 0]]));
      const message = wanted(2_000_000);
      for (let i = 0; i < 1000; i++) {
        line.socket.write(Buffer.concat([call(2 * i + 1), data(2 * i + 1, message, FLAG.END_STREAM)]));
      }
      return hold([line], milliseconds);
    },
  },
  claim: again('one connection that claims 2 GiB, sends a byte, and comes again', 1, (line) =>
    line.socket.write(Buffer.concat([post(FLOATS, 2 ** 31, `${LENGTH}: 100\r\n`), Buffer.of(0)])),
  ),
  heads: again('140 connections with a head for 1 MB each, and no body', 140, (line) =>
    line.socket.write(post(FLOATS, MIB)),
  ),
  claims: again('six connections that claim 440 MB', 6, (line) =>
    line.socket.write(Buffer.concat([post(FLOATS, 440 * MIB, `${LENGTH}: 100\r\n`), Buffer.of(0)])),
  ),
  'large-heads': again('600 connections with 15 kB of a head that does not end', 600, (line, i) =>
    line.socket.write(`POST ${FLOATS} HTTP/1.1\r\nHost: h\r\nX: ${i}${'x'.repeat(15_000)}`),
  ),
  prefixes: {
    about: 'two gRPC messages of which five bytes come, that say 440 MB',
    run({ grpc, milliseconds }) {
      const prefix = Buffer.alloc(5);
      prefix.writeUInt32BE(440 * MIB, 1);
      const all = lines(2, () => new Line(grpc, { isGrpc: true }));
      for (const { socket } of all) socket.write(Buffer.concat([greeting(), call(1), data(1, prefix)]));
      return hold(all, milliseconds);
    },
  },
  beginnings: {
    about: '40,000 streams of gRPC with 15 bytes of a message of 1 MB each, on 40 connections',
    async run({ grpc, milliseconds }) {
      const beginning = Buffer.alloc(15);
      beginning.writeUInt32BE(MIB, 1);
      const all = lines(40, () => new Line(grpc, { isGrpc: true }));
      await Promise.all(
        all.map(async (line) => {
          line.socket.write(greeting());
          // oxlint-disable-next-line no-await-in-loop -- as fast as it is taken
          for (let i = 0; i < 1000; i++) await line.write(Buffer.concat([call(2 * i + 1), data(2 * i + 1, beginning)]));
        }),
      );
      return hold(all, milliseconds);
    },
  },
  queued: {
    about: '512 streams of gRPC with 3 MB of a message of 4 MB each, on eight connections',
    async run({ grpc, milliseconds }) {
      const prefix = Buffer.alloc(5);
      prefix.writeUInt32BE(4 * MIB, 1);
      const part = Buffer.alloc(16_384);
      const all = lines(8, () => new Line(grpc, { isGrpc: true }));
      await Promise.all(
        all.map(async (line) => {
          line.socket.write(greeting());
          for (let stream = 1; stream < 128 && !line.isClosed; stream += 2) {
            line.socket.write(Buffer.concat([call(stream), data(stream, prefix)]));
            // oxlint-disable-next-line no-await-in-loop -- as fast as it is taken
            for (let sent = 0; sent < 192; sent++) await line.write(data(stream, part));
          }
        }),
      );
      return hold(all, milliseconds);
    },
  },
  silent: {
    about: '1,100 connections to the gRPC port that say nothing, the server at 1,024 files',
    async run({ grpc, milliseconds }) {
      return hold(
        lines(1100, () => new Line(grpc)),
        milliseconds,
      );
    },
  },
  'silent-http': {
    about: '1,100 connections to the HTTP port that say nothing, the server at 1,024 files',
    async run({ http, milliseconds }) {
      return hold(
        lines(1100, () => new Line(http)),
        milliseconds,
      );
    },
  },
  handshakes: {
    about: '1,100 connections to the HTTPS port that begin no handshake, the server at 1,024 files',
    isSecure: true,
    async run({ http, milliseconds }) {
      return hold(
        lines(1100, () => new Line(http)),
        milliseconds,
      );
    },
  },
  'half-handshakes': again(
    '600 connections to the HTTPS port with half of a greeting, which come again',
    600,
    (line) => line.socket.write(HALF_GREETING),
    { isSecure: true },
  ),
  probes: {
    about: 'connections to the HTTPS port that are closed or reset at once, 500 each second',
    isSecure: true,
    async run({ http, milliseconds }) {
      const end = performance.now() + milliseconds;
      const all: Line[] = [];
      while (performance.now() < end) {
        for (let i = 0; i < 10; i++) {
          const line = new Line(http);
          line.socket.once('connect', () => (i % 2 === 0 ? line.socket.end() : line.socket.resetAndDestroy()));
          all.push(line);
        }
        // oxlint-disable-next-line no-await-in-loop -- in turn
        await sleep(20);
      }
      return hold(all, PROBE_MS);
    },
  },
  streams: {
    about: '1,100 streams without an end on connections of another address, the server at 1,024 files',
    async run({ http, milliseconds }) {
      const all = lines(1100, () => new Line(http, { localAddress: ANOTHER_ADDRESS }));
      all.forEach(({ socket }, i) => {
        const json = `{"x":${i}}`;
        socket.write(Buffer.concat([post('/v2/models/endless/generate_stream', json.length), Buffer.from(json)]));
      });
      return hold(all, milliseconds);
    },
  },
  regions: {
    about: 'requests of 300 bytes for 3 GB and for 256 MB of shared memory without a page, on 16 connections',
    async run({ http, milliseconds }) {
      const regions = [new SparseRegion(3 * 1024 * MIB), new SparseRegion(256 * MIB)];
      const control = new Line(http);
      for (const { name, byteSize } of regions) {
        const json = JSON.stringify({ key: `/${name}`, offset: 0, byte_size: byteSize });
        control.socket.write(`${headOf(`/v2/systemsharedmemory/region/${name}/register`, json.length)}${json}`);
      }
      await sleep(REGISTERED_MS);
      const all = lines(16, () => new Line(http));
      all.forEach(({ socket }, i) => {
        const { name, byteSize } = regions[i % 2]!;
        const parameters = { shared_memory_region: name, shared_memory_byte_size: byteSize };
        const input = { name: 'x', datatype: 'FP32', shape: [byteSize / 4], parameters };
        const json = JSON.stringify({ id: String(i), inputs: [input], outputs: [{ name: 'y', parameters }] });
        socket.write(`${headOf(FLOATS, json.length)}${json}`.repeat(4));
      });
      const outcome = await hold([control, ...all], milliseconds);
      for (const region of regions) region.remove();
      return outcome;
    },
  },
  'one-byte-frames': frames('8 million DATA frames of one byte', 1),
  'eight-byte-frames': frames('8 million DATA frames of eight bytes', 8),
  'padded-frames': {
    about: 'DATA frames of one byte and 200 of padding',
    run: (target) => tinyFrames(target, Buffer.concat([Buffer.of(200), Buffer.alloc(201)]), FLAG.PADDED),
  },
};

/** Connections that come again when they are ended, a moment later. */
function again(about: string, count: number, begin: (line: Line, i: number) => void, { isSecure = false } = {}): Siege {
  return {
    about,
    isSecure,
    async run({ http, milliseconds }) {
      const end = performance.now() + milliseconds;
      let ended = 0;
      const attack = async (i: number) => {
        while (performance.now() < end) {
          const line = new Line(http);
          begin(line, i);
          // oxlint-disable no-await-in-loop -- one connection after the other
          while (performance.now() < end && !line.isClosed) await sleep(50);
          // oxlint-enable no-await-in-loop
          if (line.isClosed) ended++;
          line.socket.destroy();
        }
      };
      await Promise.all(Array.from({ length: count }, (_, i) => attack(i)));
      return `${count} connections, ended ${ended} times`;
    },
  };
}

function frames(about: string, bytes: number): Siege {
  return { about, run: (target) => tinyFrames(target, Buffer.alloc(bytes), 0) };
}

async function tinyFrames({ grpc, milliseconds }: Target, payload: Buffer, flags: number): Promise<string> {
  const line = new Line(grpc, { isGrpc: true });
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(2_000_000_000, 1);
  line.socket.write(Buffer.concat([greeting(), call(1), data(1, prefix)]));
  const block = Buffer.concat(Array.from({ length: 8192 }, () => data(1, payload, flags)));
  const end = performance.now() + milliseconds;
  let sent = 0;
  for (; sent < 8_000_000 && !line.isClosed && performance.now() < end; sent += 8192) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await line.write(block);
  }
  return `${sent} frames sent, ${await hold([line], 500)}`;
}
