// The messages of one streamed answer on their way to the client. They leave in order, several in one write, compressed if the
// client accepts that. A slow reader makes the method wait, so that few messages are in memory.

import { compressFrame, type MessageCompression } from '../../protocol/grpc/message-compression.js';
import { largeMemory } from '../../sockets/large-memory.js';
import type { GrpcCall, ResponseHeaders } from './grpc-call.js';

/** Once this many bytes wait, they are sent at once. */
const FLUSH_BYTES = 16_384;
/** Frames are joined up to this size, which is cheaper than sending them one by one. */
const JOIN_BYTES = 65_536;

type Frame = readonly Uint8Array[];

/** Keeps a frame's place in the order while the frame is being compressed. */
interface Place {
  frame: Frame | undefined;
}

export class MessageSender {
  readonly #call: GrpcCall;
  readonly #compression: MessageCompression | undefined;
  readonly #headers: ResponseHeaders | undefined;
  /** Frames that wait, in order, behind one that is being compressed. */
  #places: Place[] = [];
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #scheduled = false;
  #blocked = false;
  #room: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;
  #finish: (() => void) | undefined;
  #closed = false;

  constructor(call: GrpcCall, compression: MessageCompression | undefined) {
    this.#call = call;
    this.#compression = compression;
    this.#headers = compression && { 'grpc-encoding': compression.encoding };
  }

  /**
   * Undefined while the reader keeps up. Else a promise that resolves once the reader has caught up; sent messages stay in memory
   * until then.
   */
  get room(): Promise<void> | undefined {
    return this.#isBlocked() && !this.#closed ? this.#whenRoom() : undefined;
  }

  /**
   * Sends a message with the others of this turn of the event loop. `memory`: see ModelInferResponse. Returns a promise when the
   * reader is slow.
   */
  send(frame: Frame, memory?: ArrayBuffer): void | Promise<void> {
    if (this.#closed) return undefined;
    if (this.#compression === undefined) {
      if (memory !== undefined) largeMemory.lend(memory, frame);
      this.#queue(frame);
    } else {
      this.#compress(frame, this.#compression);
    }
    return this.room;
  }

  /** Sends the waiting messages. */
  flush(): void {
    if (this.#chunks.length === 0 || this.#blocked || this.#closed) return;
    const chunks = this.#bytes <= JOIN_BYTES && this.#chunks.length > 1 ? [Buffer.concat(this.#chunks)] : this.#chunks;
    this.#chunks = [];
    this.#bytes = 0;
    this.#blocked = !this.#call.write(chunks, this.#headers);
  }

  /** The client has taken all that was sent. */
  drained(): void {
    this.#blocked = false;
    this.flush();
    this.#settle();
  }

  /** Calls `end` when everything has been written. Nothing may be sent after it. */
  finish(end: () => void): void {
    this.#finish = end;
    this.#settle();
  }

  /** The call is over: nothing more is sent, and nobody has to wait. */
  close(): void {
    this.#closed = true;
    this.#chunks = [];
    this.#places = [];
    this.#release();
  }

  #queue(frame: Frame): void {
    for (const chunk of frame) {
      this.#chunks.push(chunk);
      this.#bytes += chunk.byteLength;
    }
    if (this.#bytes >= FLUSH_BYTES) this.flush();
    else if (!this.#scheduled) {
      this.#scheduled = true;
      // Runs after everything that is ready now, promises included, and before the event loop goes on.
      process.nextTick(flushScheduled, this);
    }
  }

  /** Called back in the next tick. */
  flushScheduled(): void {
    this.#scheduled = false;
    this.flush();
  }

  #compress(frame: Frame, compression: MessageCompression): void {
    const place: Place = { frame: undefined };
    this.#places.push(place);
    compressFrame(frame, compression, (compressed) => {
      place.frame = compressed;
      while (this.#places[0]?.frame !== undefined) this.#queue(this.#places.shift()!.frame!);
      this.#settle();
    });
  }

  #settle(): void {
    if (!this.#isBlocked()) this.#release();
    if (this.#finish === undefined || this.#places.length > 0 || this.#closed) return;
    const end = this.#finish;
    this.#finish = undefined;
    // A slow reader may not have taken earlier bytes yet: the transport keeps the order.
    this.#blocked = false;
    this.flush();
    end();
    this.close();
  }

  #isBlocked(): boolean {
    return this.#blocked || this.#places.length > 0;
  }

  #whenRoom(): Promise<void> {
    if (this.#room === undefined) {
      let resolve!: () => void;
      const promise = new Promise<void>((onResolve) => (resolve = onResolve));
      this.#room = { promise, resolve };
    }
    return this.#room.promise;
  }

  #release(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }
}

function flushScheduled(sender: MessageSender): void {
  sender.flushScheduled();
}
