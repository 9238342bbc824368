// Reads plain sockets into one piece of memory that all of them share, instead of allocating for each read. A connected socket
// of ours is made so; one that a server has accepted is made anew around its handle, which Node has no public way for. Where
// that is not possible, and with TLS, bytes come by the 'data' event as usual.

import { Socket, type OnReadOpts, type SocketConstructorOpts } from 'node:net';

const READ_BYTES = 65_536;

export interface ByteSink {
  /** `bytes[start…end)` are valid only during the call. */
  received(bytes: Buffer, start: number, end: number): void;
  /** Other memory for the next read. */
  directTarget(): Buffer | undefined;
}

/** For all sockets of a thread. */
export function allocateReadMemory(): Buffer {
  return Buffer.allocUnsafeSlow(READ_BYTES);
}

/** A high water mark: the socket says 'drain' whenever it has passed on all that it could not pass on at once. */
export const KEEPS_NOTHING = 1;

export interface DirectSocketOptions {
  readonly onread: OnReadOpts;
  readonly writableHighWaterMark: number;
}

/** Of a new socket: it is read into `memory`, or where the sink wants the next bytes, and keeps nothing that it is given. */
export function directSocket(memory: Buffer, sink: ByteSink): DirectSocketOptions {
  // Node asks for memory when the socket is made and after each read.
  let next = memory;
  return {
    writableHighWaterMark: KEEPS_NOTHING,
    onread: {
      buffer: () => next,
      callback: (length, bytes) => {
        sink.received(bytes as Buffer, 0, length);
        next = sink.directTarget() ?? memory;
        return true;
      },
    },
  };
}

/** Begins to read a socket that a server has accepted without reading it; returns the one to use instead. */
export function readAccepted(accepted: Socket, memory: Buffer, sink: ByteSink): Socket {
  const { allowHalfOpen } = accepted;
  const holder = accepted as unknown as { _handle?: object | null };
  const handle = holder._handle;
  if (typeof handle !== 'object' || handle === null) return readByEvents(accepted, sink);
  holder._handle = null;
  accepted.destroy();
  const options: SocketConstructorOpts & { readonly handle: object } & DirectSocketOptions = {
    handle,
    allowHalfOpen,
    ...directSocket(memory, sink),
  };
  const socket = new Socket(options);
  // The end comes as an event of the stream, which has to be read for it.
  return socket.resume();
}

export function readByEvents(socket: Socket, sink: ByteSink): Socket {
  return socket.on('data', (chunk: Buffer) => sink.received(chunk, 0, chunk.length)).resume();
}
