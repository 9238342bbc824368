// How often a connection writes to its socket, and what it does when the socket takes no more.
import { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { encodeFrame, FLAG, FRAME, PREFACE, setting, type RawFrame } from '../../test/support/raw-http2.js';
import { frames } from '../../test/support/tested-http2.js';
import { HEAD, OK } from '../../test/support/http2-echo.js';
import type { ConnectionListener } from './connection-listener.js';
import type { Http2Stream } from './http2-stream.js';
import { otherConnection } from '../../test/support/share-owner.js';
import { ByteBudget } from '../sockets/byte-budget.js';
import { BlockPool } from '../sockets/output.js';
import { SocketConnection } from './socket-connection.js';
import { KEEPS_NOTHING } from '../sockets/socket-reader.js';
import { WriteTurn } from '../sockets/write-turn.js';

const MIB = 1 << 20;

/** A socket that passes on what it is given at once, or when it is told to. */
class FakeSocket extends Duplex {
  readonly writes: Buffer[] = [];
  /** As sockets have it: what was passed on. */
  bytesWritten = 0;
  isSlow = false;
  #done: (() => void) | undefined;

  constructor(highWaterMark: number) {
    super({ highWaterMark, autoDestroy: false });
  }

  override _read(): void {}

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.#take([chunk], done);
  }

  override _writev(chunks: readonly { readonly chunk: Buffer }[], done: () => void): void {
    this.#take(
      chunks.map(({ chunk }) => chunk),
      done,
    );
  }

  drainOnce(): void {
    const done = this.#done;
    this.#done = undefined;
    done?.();
  }

  #take(chunks: readonly Buffer[], done: () => void): void {
    const bytes = Buffer.concat(chunks);
    this.writes.push(bytes);
    this.bytesWritten += bytes.length;
    if (this.isSlow) this.#done = done;
    else done();
  }
}

interface Bound {
  readonly socket: FakeSocket;
  readonly bound: SocketConnection;
  readonly streams: Http2Stream[];
  send(...sent: readonly RawFrame[]): void;
}

interface BindOptions {
  readonly highWaterMark?: number;
  readonly budget?: ByteBudget;
}

function bind(listener: ConnectionListener = {}, { highWaterMark = KEEPS_NOTHING, budget }: BindOptions = {}): Bound {
  const socket = new FakeSocket(highWaterMark);
  const streams: Http2Stream[] = [];
  const bound = new SocketConnection(() => socket as unknown as Socket, {
    role: 'server',
    listen: () => ({
      onStream: (stream) => {
        streams.push(stream);
        return { onData: () => undefined, onEnd: () => undefined };
      },
      ...listener,
    }),
    pool: new BlockPool(),
    turn: new WriteTurn(),
    budget,
  });
  const send = (...sent: readonly RawFrame[]): void => {
    const bytes = Buffer.concat(sent.map((frame) => encodeFrame(frame)));
    bound.received(bytes, 0, bytes.length);
  };
  bound.received(PREFACE, 0, PREFACE.length);
  send(frames.settings(setting(4, 1 << 24)), frames.windowUpdate(0, 1 << 24));
  socket.writes.length = 0;
  return { socket, bound, streams, send };
}

function requests(count: number): RawFrame[] {
  return Array.from({ length: count }, (_, i) => frames.request(2 * i + 1, true));
}

describe('SocketConnection', () => {
  it('writes once for all that a read has brought', () => {
    const { socket, send } = bind({
      onStream: (stream) => ({
        onData: () => undefined,
        onEnd: () => stream.sendMessage(HEAD, [Buffer.from('answer')], OK),
      }),
    });
    send(...requests(20), frames.ping(), frames.settings());
    expect(socket.writes).toHaveLength(1);
    expect(socket.writes[0]!.toString('latin1').split('answer')).toHaveLength(21);
  });

  it('writes once for all that a turn of the event loop has brought, promises included', async () => {
    const { socket, streams, send } = bind();
    send(...requests(4));
    const answer = async (stream: Http2Stream, waits: number) => {
      for (let i = 0; i < waits; i++) await Promise.resolve();
      stream.sendMessage(HEAD, [Buffer.from('answer')], OK);
    };
    await Promise.all(streams.map((stream, i) => answer(stream, 5 * i)));
    await turn();
    expect(socket.writes).toHaveLength(1);
    expect(socket.writes[0]!.toString('latin1').split('answer')).toHaveLength(5);
  });

  it('writes large chunks beside small ones without a copy', async () => {
    const { socket, streams, send } = bind();
    send(frames.settings(setting(5, 1 << 20)), ...requests(1));
    const written: Uint8Array[] = [];
    const { write } = socket;
    socket.write = ((chunk: Uint8Array) => {
      written.push(chunk);
      return Reflect.apply(write, socket, [chunk]) as boolean;
    }) as typeof write;
    const large = Buffer.alloc(50_000, 7);
    streams[0]!.sendMessage(HEAD, [large], OK);
    await turn();
    expect(written).toContain(large);
    expect(socket.writes).toHaveLength(2);
  });

  it('uses its memory again when the socket has passed everything on, and only then', async () => {
    for (const isSlow of [false, true]) {
      const { socket, streams, send } = bind();
      send(...requests(2));
      const buffers: ArrayBufferLike[] = [];
      const { write } = socket;
      socket.write = ((chunk: Buffer) => {
        buffers.push(chunk.buffer);
        return Reflect.apply(write, socket, [chunk]) as boolean;
      }) as typeof write;
      socket.isSlow = isSlow;
      for (const stream of streams) {
        stream.sendMessage(HEAD, [Buffer.from('answer')], OK);
        await turn();
      }
      expect(buffers[0] === buffers[1]).toBe(!isSlow);
      socket.drainOnce();
    }
  });

  it('gives a socket that writes later copies', async () => {
    const { socket, streams, send } = bind({}, { highWaterMark: 16_384 });
    send(...requests(2));
    socket.isSlow = true;
    for (const stream of streams) {
      stream.sendMessage(HEAD, [Buffer.from(`answer ${stream.id}`)], OK);
      await turn();
    }
    socket.drainOnce();
    expect(Buffer.concat(socket.writes).toString('latin1')).toMatch(/answer 1.*answer 3/s);
  });

  it('waits with messages while the socket takes no more, and goes on when it does', async () => {
    const { socket, streams, send, bound } = bind();
    send(...requests(2));
    socket.isSlow = true;
    streams[0]!.sendMessage(HEAD, [Buffer.alloc(3 << 20)], OK);
    await turn();
    expect(socket.writes).toHaveLength(1);
    streams[1]!.sendMessage(HEAD, [Buffer.from('answer')], OK);
    send(frames.ping());
    await turn();
    expect(streams.map(({ isClosed }) => isClosed)).toEqual([false, false]);
    expect(bound.connection.queuedBytes).toBeGreaterThan(1 << 20);
    for (let i = 0; i < 50 && socket.writableLength > 0; i++) {
      socket.drainOnce();
      await turn();
    }
    const sent = Buffer.concat(socket.writes);
    expect(sent.length).toBeGreaterThan(3 << 20);
    expect(sent.includes('answer')).toBe(true);
    expect(streams.every(({ isClosed }) => isClosed)).toBe(true);
  });

  it('gives a socket nothing before it is connected, and then nothing of calls that were given up', async () => {
    const socket = Object.assign(new FakeSocket(KEEPS_NOTHING), { connecting: true });
    const bound = new SocketConnection(() => socket as unknown as Socket, {
      role: 'client',
      listen: () => ({}),
      pool: new BlockPool(),
      turn: new WriteTurn(),
    });
    const given = Buffer.alloc(5000, 'g');
    const closed: string[] = [];
    const open = (name: string, body: Buffer) => {
      const listener = {
        onData: () => undefined,
        onEnd: () => undefined,
        onClose: (error?: Error) => closed.push(`${name}: ${error?.message}`),
      };
      const stream = bound.connection.openStream(HEAD, listener);
      stream.sendData(body, true);
      return stream;
    };
    const streams = [open('wanted', Buffer.from('wanted')), open('unwanted', Buffer.from('left'))];
    open('transferred', given);
    await turn();
    streams[1]!.reset('CANCEL');
    structuredClone(given.buffer, { transfer: [given.buffer] });
    await turn();
    expect(socket.writes).toEqual([]);
    socket.connecting = false;
    socket.emit('connect');
    expect(socket.writes).toHaveLength(1);
    const written = socket.writes[0]!.toString('latin1');
    expect(written.startsWith(PREFACE.toString('latin1'))).toBe(true);
    expect(written).toContain('wanted');
    expect(written).not.toContain('left');
    expect(closed).toEqual(['transferred: the memory of what was to be sent was given away before it was sent']);
    socket.emit('close');
  });

  it('keeps little for a socket that takes nothing, however often there is something to write', async () => {
    const { socket, streams, send, bound } = bind();
    send(...requests(1));
    socket.isSlow = true;
    streams[0]!.sendHeaders(HEAD);
    await turn();
    for (let i = 0; i < 1000; i++) {
      send(frames.ping());
      await turn();
    }
    expect(socket.writes).toHaveLength(1);
    expect(bound.connection.output.bytes).toBe(1000 * 17);
    socket.isSlow = false;
    socket.drainOnce();
    expect(socket.writes).toHaveLength(2);
  });

  it('ends the socket when the connection has ended, after its last words', async () => {
    const { socket, send } = bind();
    send(frames.data(0, 'x'));
    await turn();
    expect(socket.writes.at(-1)![3]).toBe(FRAME.GOAWAY);
    expect(socket.writableEnded).toBe(true);
    socket.emit('close');
  });

  it('tells the connection when the socket is lost, and why', () => {
    const ends: (string | undefined)[] = [];
    const { socket, send } = bind({ onClose: (error) => ends.push(error?.message) });
    send(...requests(1));
    socket.emit('error', new Error('read ECONNRESET'));
    socket.emit('close');
    expect(ends).toEqual(['the connection is lost: read ECONNRESET']);
  });

  it('counts its streams where it has many, and refuses those that there is no room for', async () => {
    const budget = new ByteBudget(8 * MIB);
    const { send, socket, streams, bound } = bind({}, { budget });
    const all = Array.from({ length: 564 }, (_, i) => frames.request(2 * i + 1));
    send(...all.slice(0, 64));
    expect(budget.held).toBe(0);
    send(...all.slice(64));
    // Half of the part for small requests.
    expect([budget.held, bound.connection.openStreams]).toEqual([MIB / 2, 64 + MIB / 2 / 2048]);
    await turn();
    expect(socket.writes.at(-1)!.includes(Buffer.from([0, 0, 4, FRAME.RST_STREAM]))).toBe(true);
    for (const stream of streams.slice(64)) stream.reset('CANCEL');
    expect(budget.held).toBe(0);
    socket.emit('close');
  });

  it('resets the uploads that stand still when others need their room, and no other stream', async () => {
    const budget = new ByteBudget(64 * MIB);
    const other = otherConnection(budget);
    const ends: string[] = [];
    const { bound, send, socket, streams } = bind(
      {
        onStream: (stream) => {
          streams.push(stream);
          stream.hold(5 * MIB, 15 * MIB);
          stream.receiveInto(new Uint8Array(10 * MIB));
          return {
            onData: () => undefined,
            onEnd: () => undefined,
            onClose: (error) => ends.push(`${stream.id} ${error?.code}`),
          };
        },
      },
      { budget },
    );
    send(frames.request(1), frames.request(3), frames.data(1, 'some'), frames.data(3, 'some'));
    bound.tick(0);
    bound.tick(2000);
    expect(bound.isStalled).toBe(false);
    send(frames.data(1, 'little'), frames.data(3, 'x'.repeat(16 * 1024)));
    bound.tick(2001);
    expect(bound.isStalled).toBe(true);
    expect(other.holds(24 * MIB)).toBe(true);
    await turn();
    expect(ends).toEqual(['1 ENHANCE_YOUR_CALM']);
    expect(streams.map(({ isClosed }) => isClosed)).toEqual([true, false]);
    expect(budget.held).toBe(29 * MIB + 'some'.length + 16 * 1024);
    expect(socket.writes.at(-1)!.subarray(-13)).toEqual(
      encodeFrame({ type: FRAME.RST_STREAM, stream: 1, payload: Buffer.of(0, 0, 0, 11) }),
    );
    expect(bound.isStalled).toBe(false);
  });

  it('whose answers nobody reads makes room for others, at the cost of the connection', async () => {
    const budget = new ByteBudget(64 * MIB);
    const other = otherConnection(budget);
    const { bound, send, socket, streams } = bind({}, { budget });
    send(...requests(1));
    socket.isSlow = true;
    streams[0]!.sendMessage(HEAD, [Buffer.alloc(30 * MIB)], OK);
    await turn();
    expect(budget.held).toBeGreaterThan(10 * MIB);
    bound.tick(0);
    bound.tick(5000);
    expect(bound.isStalled).toBe(false);
    bound.tick(5001);
    expect(bound.isStalled).toBe(true);
    expect(other.holds(27 * MIB)).toBe(true);
    expect(socket.destroyed).toBe(true);
    expect(budget.held).toBe(27 * MIB);
    socket.emit('close');
  });

  it('ends a connection that takes nothing of its answers for minutes, whoever needs the room', async () => {
    const { bound, send, socket, streams } = bind();
    send(...requests(1));
    socket.isSlow = true;
    streams[0]!.sendMessage(HEAD, [Buffer.alloc(MIB)], OK);
    await turn();
    bound.tick(0);
    bound.tick(300_000);
    expect(socket.destroyed).toBe(false);
    bound.tick(300_001);
    expect(socket.destroyed).toBe(true);
    socket.emit('close');
  });

  it('says goodbye when it gives its place to others while it is idle', () => {
    const { bound, send, socket } = bind();
    expect(bound.hasServed).toBe(false);
    send(...requests(1));
    expect(bound.hasServed).toBe(true);
    bound.closeIdle();
    expect(socket.writes.at(-1)![3]).toBe(FRAME.GOAWAY);
    expect(socket.destroyed).toBe(true);
    socket.emit('close');
  });
});

describe('a peer that takes nothing of its answers', () => {
  const MINUTE = 60_000;

  /** A connection whose peer lets nothing be sent, with an answer of so many bytes. */
  async function unread(bytes: number) {
    const budget = new ByteBudget(64 << 20);
    const ends: string[] = [];
    const bound = bind({ onClose: (error) => ends.push(error?.message ?? 'in order') }, { budget });
    const acknowledged = { type: FRAME.SETTINGS, flags: FLAG.ACK };
    bound.send(acknowledged, frames.settings(setting(4, 0)), ...requests(1));
    bound.streams[0]!.sendMessage(HEAD, [Buffer.alloc(bytes)], OK);
    await turn();
    bound.bound.tick(0);
    return { ...bound, budget, ends };
  }

  it('for five minutes has its connection closed, and what waited for it is given back', async () => {
    const { bound, socket, budget, ends } = await unread(1 << 20);
    expect(budget.held).toBeGreaterThanOrEqual(1 << 20);
    bound.tick(5 * MINUTE);
    expect(socket.destroyed).toBe(false);
    bound.tick(5 * MINUTE + 1);
    expect(socket.destroyed).toBe(true);
    await turn();
    expect([budget.held, ends]).toEqual([0, ['the peer closed the connection']]);
  });

  it('has five more minutes when it has taken some', async () => {
    const { bound, socket, send } = await unread(1 << 20);
    bound.tick(4 * MINUTE);
    send(frames.windowUpdate(1, 16 * 1024));
    bound.tick(5 * MINUTE);
    bound.tick(10 * MINUTE);
    expect(socket.destroyed).toBe(false);
    bound.tick(10 * MINUTE + 1);
    expect(socket.destroyed).toBe(true);
  });

  it('is not helped by taking a byte now and then', async () => {
    const { bound, socket, send } = await unread(1 << 20);
    for (let second = 1; second <= 6; second++) {
      send(frames.windowUpdate(1, 1));
      bound.tick(second * 1000);
    }
    expect(bound.isStalled).toBe(true);
    for (let minute = 1; minute <= 6; minute++) {
      send(frames.windowUpdate(1, 1));
      bound.tick(minute * MINUTE);
    }
    expect(socket.destroyed).toBe(true);
  });

  it('is not helped by pings, to which the answers are taken', async () => {
    const { bound, socket, send } = await unread(1 << 20);
    for (let minute = 1; minute <= 6; minute++) {
      send(frames.ping());
      bound.tick(minute * MINUTE);
    }
    expect(socket.destroyed).toBe(true);
  });

  it('may take its time where it is allowed to, whoever needs the room', async () => {
    const { bound, socket } = await unread(1 << 20);
    bound.connection.readsLate = true;
    bound.tick(60 * MINUTE);
    expect([bound.isStalled, socket.destroyed]).toEqual([false, false]);
    bound.evict();
    expect(socket.destroyed).toBe(false);
    bound.connection.readsLate = false;
    bound.tick(61 * MINUTE);
    expect([bound.isStalled, socket.destroyed]).toEqual([true, true]);
  });

  it('may leave a little for as long as it likes, until others need the room', async () => {
    const { bound, socket, budget } = await unread(1000);
    bound.tick(5000);
    expect(bound.isStalled).toBe(false);
    bound.tick(60 * MINUTE);
    expect([bound.isStalled, socket.destroyed]).toEqual([true, false]);
    bound.evict();
    await turn();
    expect([socket.destroyed, budget.held]).toEqual([true, 0]);
  });
});
