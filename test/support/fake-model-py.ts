// Stands in for a `model.py` of tritonserver, at the other end of its socket.

import { once } from 'node:events';
import type { Socket } from 'node:net';

import * as frames from '../../src/tritonserver/frame.js';

/** Stands in for a `model.py`. */
export class FakeModel {
  readonly #socket: Socket;
  readonly #reader = new frames.FrameReader(1e6);
  readonly #frames: frames.Frame[] = [];
  #wake: () => void = () => undefined;
  readonly closed: Promise<unknown>;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.closed = once(socket, 'close');
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      this.#reader.push(Buffer.from(chunk), (frame) => this.#frames.push(frame));
      this.#wake();
    });
  }

  send(frame: Partial<frames.OutgoingFrame> & { readonly kind: number }): void {
    for (const piece of frames.encodeFrame({ id: 0, count: 0, head: [], ...frame })) this.#socket.write(piece);
  }

  sendBatch(id: number, values: readonly number[], extras?: object): void {
    const head = values.flatMap(() => [3, 1, 1, 4, 0]);
    const tensors = values.map((value) => new Uint8Array(Int32Array.of(value).buffer));
    this.send({ kind: frames.BATCH, id, count: values.length, head, tensors, extras });
  }

  async next(): Promise<frames.Frame> {
    while (this.#frames.length === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
    return this.#frames.shift()!;
  }

  end(): void {
    this.#socket.destroy();
  }
}
