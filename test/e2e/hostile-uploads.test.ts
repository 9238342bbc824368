// Clients that say how much they are going to send and send little of it, or send much and never end, beside good clients of the same
// address: every good request is answered, over both wires.
import { connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

import { describe, expect, it } from 'vitest';

import { ModelClient } from 'tstriton/client';
import { encodeFrame, encodeHeaders, FLAG, FRAME, PREFACE } from '../support/raw-http2.js';
import { startServer, type RunningServer } from '../support/start-server.js';

const MIB = 1 << 20;
const INFER = '/inference.GRPCInferenceService/ModelInfer';

function start(serverThread: boolean, maxInflightBytes: number): Promise<RunningServer> {
  return startServer(
    (triton) =>
      triton.bind({
        modelName: 'echo',
        inputs: { x: { dtype: 'float32', shape: [-1] } },
        outputs: { y: { dtype: 'float32', shape: [-1] } },
        config: { batching: false },
        inferFunc: (requests) => requests,
      }),
    { serverThread, maxInflightBytes },
  );
}

/** Connections that come again as soon as the server ends them, until they are disposed of. */
class Attackers implements Disposable {
  readonly #sockets = new Set<Socket>();
  readonly #port: number;
  readonly #begin: (socket: Socket) => void;
  #isOver = false;
  /** How many times one of them has connected. */
  connections = 0;

  constructor(port: number, count: number, begin: (socket: Socket) => void) {
    this.#port = port;
    this.#begin = begin;
    for (let i = 0; i < count; i++) this.#connect();
  }

  #connect(): void {
    if (this.#isOver || this.connections > 2000) return;
    this.connections++;
    const socket = connect(this.#port, '127.0.0.1');
    this.#sockets.add(socket);
    socket.on('error', () => undefined).resume();
    socket.on('close', () => {
      this.#sockets.delete(socket);
      this.#connect();
    });
    this.#begin(socket);
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    for (const socket of this.#sockets) socket.destroy();
  }
}

function head(length: number): string {
  return `POST /v2/models/echo/infer HTTP/1.1\r\nHost: h\r\nContent-Length: ${length}\r\nInference-Header-Content-Length: 10\r\n\r\n`;
}

/** The head of a call, and the beginning of its message, which says how long it is. */
function callOf(length: number): Buffer {
  const block = encodeHeaders([
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', INFER],
    [':authority', 'h'],
    ['content-type', 'application/grpc'],
  ]);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([
    PREFACE,
    encodeFrame({ type: FRAME.SETTINGS }),
    encodeFrame({ type: FRAME.HEADERS, flags: FLAG.END_HEADERS, stream: 1, payload: block }),
    encodeFrame({ type: FRAME.DATA, stream: 1, payload: prefix }),
  ]);
}

/** As fast as the server takes it. */
function pour(socket: Socket, bytes: number): void {
  const block = Buffer.alloc(256 * 1024);
  let left = bytes;
  const more = () => {
    while (left > 0 && !socket.destroyed) {
      left -= block.length;
      if (!socket.write(block)) return void socket.once('drain', more);
    }
  };
  more();
}

const ATTACKS = {
  'one claim of 2 GiB, again and again': {
    budget: 1024 * MIB,
    largest: 4_200_000,
    port: 'http',
    count: 1,
    begin: (socket: Socket) => socket.write(`${head(2 ** 31)}x`),
  },
  '140 heads without a body': {
    budget: 1024 * MIB,
    largest: 4_200_000,
    port: 'http',
    count: 140,
    begin: (socket: Socket) => socket.write(head(MIB)),
  },
  'six claims of 440 MiB': {
    budget: 1024 * MIB,
    largest: 4_200_000,
    port: 'http',
    count: 6,
    begin: (socket: Socket) => socket.write(`${head(440 * MIB)}x`),
  },
  'two prefixes of gRPC messages': {
    budget: 1024 * MIB,
    largest: 4_200_000,
    port: 'grpc',
    count: 2,
    begin: (socket: Socket) => socket.write(callOf(440 * MIB)),
  },
  'six uploads of 26 MiB that stop before their end': {
    budget: 64 * MIB,
    // Only uploads twice as large must make room: six that are not yet so large fit beside it.
    largest: 700_000,
    port: 'http',
    count: 6,
    begin(socket: Socket) {
      socket.write(head(26 * MIB));
      pour(socket, 25 * MIB);
    },
  },
} as const;

/** Requests of sizes around the thresholds, each with numbers of its own; what failed. */
async function failures(server: RunningServer, largest: number, until: () => boolean): Promise<string[]> {
  const failed: string[] = [];
  const ask = async (url: string, seed: number) => {
    await using client = new ModelClient(url, 'echo', { retry: false });
    const sizes = [1, 1024, 15_000, 70_000, 300_000, 520_000, largest];
    for (let i = 0; i < sizes.length || !until(); i++) {
      const length = sizes[i % sizes.length]! + i;
      const x = Float32Array.from({ length }, (_, at) => seed + ((at * 7 + i) % 65_521));
      try {
        const { y } = await client.inferSample({ x });
        if (!isDeepStrictEqual(y!.data, x)) failed.push(`${url}: another answer for ${length} numbers`);
      } catch (error) {
        failed.push(`${url}: ${String(error)}`);
      }
      await turn();
    }
  };
  await Promise.all([ask(server.http, 1), ask(server.grpc, 100_000)]);
  return failed;
}

describe.each([{ serverThread: true }, { serverThread: false }])('hostile uploads, with %o', ({ serverThread }) => {
  it.each(Object.entries(ATTACKS))('%s: no good request fails', async (_, { budget, largest, port, count, begin }) => {
    await using server = await start(serverThread, budget);
    using attackers = new Attackers(Number(new URL(server[port]).port), count, begin);
    const end = performance.now() + 1500;
    expect(await failures(server, largest, () => performance.now() > end)).toEqual([]);
    expect(attackers.connections).toBeGreaterThanOrEqual(count);
  });
});
