// Memory that is used again is the socket's until it has written it, whatever state the socket is in.
import { once } from 'node:events';
import { createServer, Socket, type AddressInfo, type SocketConstructorOpts } from 'node:net';

import { afterEach, describe, expect, it, vi } from 'vitest';

import { BLOCK_BYTES, BlockPool, Output, type OutputSocket } from './output.js';
import { largeMemory } from './large-memory.js';
import { KEEPS_NOTHING, type DirectSocketOptions } from './socket-reader.js';

/** A socket that keeps what it is given until the test has it write. */
class PlayedSocket {
  connecting = false;
  writableHighWaterMark = KEEPS_NOTHING;
  writableLength = 0;
  /** Whether it writes what it is given at once. */
  isFast = false;
  readonly #kept: { readonly chunk: Uint8Array; readonly done: ((error?: Error) => void) | undefined }[] = [];

  cork(): void {}

  uncork(): void {}

  write(chunk: Uint8Array, done?: (error?: Error) => void): boolean {
    this.#kept.push({ chunk, done });
    this.writableLength += chunk.length;
    if (this.isFast) this.writableLength = 0;
    return this.isFast;
  }

  /** What reaches the other side, as the memory is now. */
  pass(error?: Error): string {
    const kept = this.#kept.splice(0);
    this.writableLength = 0;
    for (const { done } of kept) done?.(error);
    return Buffer.concat(kept.map(({ chunk }) => chunk)).toString('latin1');
  }
}

const STATES: readonly [string, Partial<PlayedSocket>][] = [
  ['takes everything', { isFast: true }],
  ['takes nothing at the moment', {}],
  ['is still connecting', { connecting: true }],
  ['is one of TLS', { writableHighWaterMark: 16_384 }],
  ['has a backlog', { writableLength: 5 }],
];

const pool = new BlockPool();

function write(output: Output, socket: PlayedSocket): boolean {
  return output.writeTo(socket as unknown as OutputSocket);
}

describe.each(STATES)('output to a socket that %s', (_, state) => {
  const socketOf = () => Object.assign(new PlayedSocket(), state);

  it('stays as it was written while other connections write', () => {
    const large = Buffer.alloc(20_000, 'l');
    const texts = Array.from({ length: 20 }, (_, i) => String.fromCharCode(97 + i).repeat(i * 1700 + 1));
    const passes = texts.map((text, i) => {
      const socket = socketOf();
      const output = new Output(pool);
      output.writeText(text);
      if (i % 2 === 0) output.writeBytes(large);
      output.writeText('.'.repeat(BLOCK_BYTES - 10));
      output.writeText('end');
      write(output, socket);
      expect(output.bytes).toBe(0);
      if (!socket.isFast) return () => socket.pass();
      const passed = socket.pass();
      return () => passed;
    });
    const expected = texts.map(
      (text, i) => `${text}${i % 2 === 0 ? large.toString() : ''}${'.'.repeat(BLOCK_BYTES - 10)}end`,
    );
    expect(passes.map((pass) => inShort(pass()))).toEqual(expected.map(inShort));
  });

  it('gives large memory back when the socket has passed it on, and never after an error', () => {
    for (const error of [undefined, new Error('reset')]) {
      const socket = socketOf();
      const sent = vi.spyOn(largeMemory, 'sent');
      const answer = new Uint8Array(1 << 20);
      const [first, second] = [answer.subarray(0, 400_000), answer.subarray(400_000)];
      largeMemory.lend(answer.buffer, [answer]);
      const output = new Output(pool);
      output.refer(first);
      output.writeText('between');
      output.refer(second);
      write(output, socket);
      expect(sent).not.toHaveBeenCalled();
      socket.pass(error);
      expect(sent.mock.calls.map(([chunk]) => chunk)).toEqual(error === undefined ? [first, second] : []);
      sent.mockRestore();
    }
  });
});

/** A failed comparison would be long. */
function inShort(text: string): string {
  return text.replaceAll(/(.)\1*/g, (run: string) => `${run[0]}${run.length} `);
}

describe('output', () => {
  it('that is discarded is not sent with what comes behind it', () => {
    const socket = Object.assign(new PlayedSocket(), { isFast: true });
    const output = new Output(pool);
    output.writeText('secret');
    output.writeBytes(Buffer.alloc(20_000));
    output.discard();
    expect(output.bytes).toBe(0);
    output.writeText('open');
    write(output, socket);
    expect(socket.pass()).toBe('open');
  });
});

describe('output to a socket of the system', () => {
  const open: { destroy(): unknown }[] = [];
  afterEach(() => {
    for (const one of open.splice(0)) one.destroy();
  });

  it('leaves no block to others that is not written', async () => {
    const server = createServer({ pauseOnConnect: true });
    open.push({ destroy: () => server.close() });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const highWaterMark: SocketConstructorOpts & Partial<DirectSocketOptions> = {
      writableHighWaterMark: KEEPS_NOTHING,
    };
    const socket = new Socket(highWaterMark).connect(port, '127.0.0.1');
    const [[accepted]] = (await Promise.all([once(server, 'connection'), once(socket, 'connect')])) as [[Socket], []];
    open.push(socket, accepted);

    // More than the system takes, and text in blocks around it.
    const output = new Output(pool);
    const body = Buffer.alloc(30 << 20, 'b');
    output.writeText('head');
    output.refer(body);
    output.writeText('tail');
    expect(output.writeTo(socket)).toBe(false);
    for (let i = 0; i < 10; i++) {
      const other = new Output(pool);
      other.writeText('x'.repeat(BLOCK_BYTES));
      write(other, Object.assign(new PlayedSocket(), { isFast: true }));
    }
    const pieces: Buffer[] = [];
    accepted.on('data', (piece: Buffer) => pieces.push(piece)).resume();
    socket.end();
    await once(accepted, 'end');
    const received = Buffer.concat(pieces);
    expect(received.length).toBe(body.length + 8);
    expect(received.toString('latin1', 0, 6) + received.toString('latin1', received.length - 6)).toBe('headbbbbtail');
  });
});
