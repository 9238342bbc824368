// Sockets that are read into memory of ours: the accepted ones rely on what is private in Node's sockets, so this runs on every
// version of Node that is supported.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { allocateReadMemory, KEEPS_NOTHING, readAccepted, readByEvents, type ByteSink } from './socket-reader.js';

interface Accepted {
  readonly client: Socket;
  readonly server: Socket;
  /** Closes the port, and waits until Node counts no connection of it. */
  close(): Promise<void>;
}

async function accept(read: (socket: Socket) => Socket): Promise<Accepted> {
  const listener = createServer({ pauseOnConnect: true });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as AddressInfo;
  const accepted = once(listener, 'connection');
  const client = connect(port, '127.0.0.1');
  const server = read(((await accepted) as [Socket])[0]);
  server.on('error', () => undefined);
  client.on('error', () => undefined);
  return {
    client,
    server,
    close: async () => {
      client.destroy();
      server.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

class Recorder implements ByteSink {
  readonly places: ArrayBufferLike[] = [];
  text = '';
  direct: Buffer | undefined;

  received(bytes: Buffer, start: number, end: number): void {
    this.places.push(bytes.buffer);
    this.text += bytes.toString('latin1', start, end);
  }

  directTarget(): Buffer | undefined {
    return this.direct;
  }
}

describe('an accepted socket', () => {
  it('is read into the memory that it shares, or where its bytes belong', async () => {
    const memory = allocateReadMemory();
    const recorder = new Recorder();
    const target = Buffer.alloc(1000);
    const { client, server, close } = await accept((socket) => readAccepted(socket, memory, recorder));
    recorder.direct = target;
    client.write('one');
    await expect.poll(() => recorder.text).toBe('one');
    recorder.direct = undefined;
    client.write('two');
    await expect.poll(() => recorder.text).toBe('onetwo');
    client.write('three');
    await expect.poll(() => recorder.text).toBe('onetwothree');
    expect(recorder.places).toEqual([memory.buffer, target.buffer, memory.buffer]);
    expect(recorder.places[0]).toBe(memory.buffer);
    expect(recorder.places[1]).toBe(target.buffer);
    expect(target.toString('latin1', 0, 3)).toBe('two');
    expect(server.writableHighWaterMark).toBe(KEEPS_NOTHING);
    expect(server.remoteAddress).toBe('127.0.0.1');
    await close();
  });

  it('writes, says when it has passed everything on, and hears of the end', async () => {
    const { client, server, close } = await accept((socket) =>
      readAccepted(socket, allocateReadMemory(), new Recorder()),
    );
    const data = Buffer.alloc(32 << 20);
    const drained = once(server, 'drain');
    expect(server.write(data)).toBe(false);
    expect(server.writableLength).toBeGreaterThan(0);
    let bytes = 0;
    client.on('data', (chunk: Buffer) => (bytes += chunk.length));
    await drained;
    expect(server.writableLength).toBe(0);
    await expect.poll(() => bytes).toBe(data.length);
    const ended = once(server, 'end');
    client.end();
    await ended;
    await close();
  });

  it('tells of a connection that is reset', async () => {
    const { client, server, close } = await accept((socket) =>
      readAccepted(socket, allocateReadMemory(), new Recorder()),
    );
    const closed = new Promise((resolve) => server.once('close', resolve));
    client.resetAndDestroy();
    await closed;
    expect(server.destroyed).toBe(true);
    await close();
  });

  it('whose handle is out of reach is read by events', async () => {
    const recorder = new Recorder();
    const { client, close } = await accept((socket) => {
      const hidden = new Proxy(socket, {
        get: (real, name) => {
          if (name === '_handle') return undefined;
          const value = Reflect.get(real, name) as unknown;
          return typeof value === 'function' ? value.bind(real) : value;
        },
      });
      return readAccepted(hidden, allocateReadMemory(), recorder);
    });
    client.write('one');
    await expect.poll(() => recorder.text).toBe('one');
    await close();
  });
});

describe('a socket that is read by events', () => {
  it('tells its bytes', async () => {
    const recorder = new Recorder();
    const { client, close } = await accept((socket) => readByEvents(socket, recorder));
    client.write('one');
    await expect.poll(() => recorder.text).toBe('one');
    await close();
  });
});
