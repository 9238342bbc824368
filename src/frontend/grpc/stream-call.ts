// One call with streams of messages. It cuts out its requests, inflates them in order, keeps its deadline, and sends the method's
// answers. The client has to wait while the method asks for that.

import { TritonError } from '../../errors.js';
import { ServedTimer } from '../../pacing/served-timer.js';
import { GRPC_STATUS, STATUS_OF_CODE, type GrpcStatus } from '../../protocol/grpc/grpc-status.js';
import {
  chooseCompression,
  inflateMessage,
  type CompressionLevel,
  type MessageEncoding,
} from '../../protocol/grpc/message-compression.js';
import { MessageFrameReader, type ReceivedMessage } from '../../protocol/grpc/message-frame.js';
import { CallDeadline } from './call-deadline.js';
import type { KeepaliveOptions } from './connection-keepalive.js';
import { type CallHead, type CallListener, type GrpcCall, NO_ROOM } from './grpc-call.js';
import { MessageSender } from './message-sender.js';
import { requestMemory } from './request-memory.js';

/** What a method does with the stream that it serves. */
export interface StreamHandler {
  /** The next request message. An error that it throws ends the stream. */
  message(bytes: Buffer): void;
  /** The client will send no more. */
  halfClosed(): void;
  /** Nobody waits for answers any more; the stream has ended. */
  cancel(): void;
  /** The server stops: the stream is to end as soon as it can. */
  drain(): void;
}

/** The side of a stream that answers go to. It ends once, by `finish` or by `fail`. */
export interface AnswerStream {
  readonly head: CallHead;
  /** Sends one message as a frame. `memory`: see ModelInferResponse. Returns a promise when the reader is slow. */
  send(frame: readonly Uint8Array[], memory?: ArrayBuffer): void | Promise<void>;
  /** While the reader is slow: resolves when it has caught up. */
  readonly room: Promise<void> | undefined;
  /** No further `message` before {@link resume}. */
  hold(): void;
  resume(): void;
  /** Sets the bytes of messages that the handler holds. Returns false and changes nothing when the server has no room for them. */
  keep(bytes: number): boolean;
  /** Ends the stream with OK. */
  finish(): void;
  /** Ends the stream with this error after all that was sent. */
  fail(error: TritonError): void;
}

export interface StreamMethod {
  /** Largest request message in bytes, if that is less than the server takes. */
  readonly maxMessageSize?: number;
  /** How its answers are compressed for clients that accept that. Default: not at all. */
  readonly compression?: CompressionLevel;
  /**
   * Its messages come from processes of the operator's own: they do not count as bytes of clients, and only `maxMessageSize` limits
   * them. Default: false.
   */
  readonly isTrusted?: boolean;
  /** Keepalive of the connections that its calls come on, which may then read late. Default: the port's. */
  readonly keepalive?: Partial<KeepaliveOptions>;
  open(stream: AnswerStream): StreamHandler;
}

export interface StreamCallOptions {
  readonly maxMessageSize: number;
  readonly onEnd: (call: StreamCall) => void;
}

/** Most messages that one stream may give in a turn: a single read of a socket can bring a thousand. */
const MESSAGES_AT_ONCE = 64;
/** While the server stops, a new stream has this long to send its first message. */
const PATIENCE_MILLISECONDS = 1000;

export class StreamCall implements CallListener, AnswerStream {
  readonly head: CallHead;
  readonly #call: GrpcCall;
  readonly #options: StreamCallOptions;
  readonly #frames: MessageFrameReader;
  readonly #sender: MessageSender;
  readonly #isTrusted: boolean;
  readonly #deadline: CallDeadline | undefined;
  readonly #handler: StreamHandler;
  #halfClosed = false;
  #toldHalfClose = false;
  #paused = false;
  #reading = false;
  #held = false;
  /** Bytes of messages that the handler holds. */
  #kept = 0;
  #inflating = false;
  /** Bytes that the message under inflation holds. */
  #inflatingBytes = 0;
  /** True until the next turn of the event loop. */
  #resting = false;
  #ended = false;
  /** Timer for the first message of a stream that came while the server was stopping. */
  #patience: ServedTimer | undefined;

  constructor(call: GrpcCall, method: StreamMethod, options: StreamCallOptions) {
    this.head = call.head;
    this.#call = call;
    this.#options = options;
    this.#frames = new MessageFrameReader(
      options.maxMessageSize,
      call.head.header('grpc-encoding'),
      true,
      requestMemory,
    );
    const compression = chooseCompression(method.compression ?? 'none', call.head.header('grpc-accept-encoding'));
    this.#sender = new MessageSender(call, compression);
    this.#isTrusted = method.isTrusted === true;
    if (method.keepalive !== undefined) call.keepalive?.(method.keepalive);
    this.#handler = method.open(this);
    const { timeout } = call.head;
    if (timeout === undefined) return;
    this.#deadline = new CallDeadline(timeout, this);
    const { malformed } = this.#deadline;
    if (malformed !== undefined) this.#abort(GRPC_STATUS.INTERNAL, malformed);
  }

  /** True when the call has ended already. */
  get ended(): boolean {
    return this.#ended;
  }

  get room(): Promise<void> | undefined {
    return this.#sender.room;
  }

  onData(chunk: Buffer): void {
    if (this.#ended) return;
    this.#frames.add(Buffer.from(chunk));
    this.#read();
  }

  onFilled(): void {
    if (this.#ended) return;
    this.#frames.filled();
    this.#read();
  }

  onNoRoom(): void {
    if (!this.#ended) this.#abort(GRPC_STATUS.RESOURCE_EXHAUSTED, NO_ROOM);
  }

  onEnd(): void {
    if (this.#ended) return;
    this.#halfClosed = true;
    this.#read();
  }

  onDrain(): void {
    this.#sender.drained();
  }

  onClose(): void {
    if (this.#ended) return;
    this.#end();
    this.#handler.cancel();
  }

  /** The deadline has passed. */
  expire(): void {
    if (this.#ended) return;
    // A status would not arrive either: it would come behind answers that the client does not take.
    if (this.#sender.room !== undefined) {
      this.#end();
      this.#call.reset();
      this.#handler.cancel();
    } else this.#abort(GRPC_STATUS.DEADLINE_EXCEEDED, 'Deadline Exceeded');
  }

  /** The server stops. */
  drain(): void {
    this.#patience?.clear();
    this.#patience = undefined;
    if (!this.#ended) this.#handler.drain();
  }

  /** The server stopped before the stream came: its first message is served. */
  drainAfterFirst(): void {
    this.#patience = new ServedTimer(() => this.drain(), PATIENCE_MILLISECONDS, { renewals: 1 });
  }

  send(frame: readonly Uint8Array[], memory?: ArrayBuffer): void | Promise<void> {
    return this.#ended ? undefined : this.#sender.send(frame, memory);
  }

  hold(): void {
    this.#held = true;
  }

  resume(): void {
    if (!this.#held) return;
    this.#held = false;
    this.#read();
  }

  keep(bytes: number): boolean {
    const before = this.#kept;
    this.#kept = bytes;
    if (this.#holds()) return true;
    this.#kept = before;
    return false;
  }

  finish(): void {
    if (this.#ended) return;
    this.#stop();
    this.#sender.finish(() => this.#call.end());
  }

  fail(error: TritonError): void {
    if (this.#ended) return;
    this.#stop();
    this.#sender.finish(() => this.#call.fail(STATUS_OF_CODE[error.code], error.message));
  }

  /** Hands over the messages that have come, until the method asks to hold them. */
  #read(): void {
    // A method may hold and resume while it takes a message.
    if (this.#reading) return;
    this.#reading = true;
    for (let count = 1; !this.#waits && !this.#ended; count++) {
      const message = this.#frames.next();
      if (message === undefined) break;
      this.#take(message);
      if (count === MESSAGES_AT_ONCE) this.#rest();
    }
    this.#reading = false;
    if (this.#ended) return;
    if (!this.#holds()) {
      this.onNoRoom();
      return;
    }
    // Bytes of a target count as the client's.
    const target = this.#isTrusted ? undefined : this.#frames.target();
    if (target !== undefined) this.#call.receiveInto(target);
    const waits = this.#waits;
    if (waits !== this.#paused && !this.#halfClosed) {
      this.#paused = waits;
      if (waits) this.#call.pause();
      else this.#call.resume();
    }
    const { failure, idle } = this.#frames;
    if (waits) return;
    if (failure !== undefined) this.#abort(failure.status, failure.message);
    else if (this.#halfClosed && !idle) this.#abort(GRPC_STATUS.INTERNAL, 'Unable to parse request');
    else if (this.#halfClosed && !this.#toldHalfClose) {
      this.#toldHalfClose = true;
      this.#handler.halfClosed();
    }
  }

  /** Counts all bytes of the client's messages that are here. */
  #holds(): boolean {
    if (this.#isTrusted) return true;
    const { heldBytes, wholeBytes } = this.#frames;
    const others = this.#kept + this.#inflatingBytes;
    // A stream with requests under way must not be ended to make room for others.
    return this.#call.hold(others + heldBytes, others > 0 ? others + heldBytes : wholeBytes);
  }

  get #waits(): boolean {
    return this.#held || this.#inflating || this.#resting;
  }

  /** Gives other calls their turn. */
  #rest(): void {
    this.#resting = true;
    setImmediate(() => {
      this.#resting = false;
      this.#read();
    });
  }

  #take({ bytes, compressed }: ReceivedMessage): void {
    if (!compressed) return this.#give(bytes);
    this.#inflating = true;
    const encoding = this.head.header('grpc-encoding') as MessageEncoding;
    const hold = (held: number) => {
      this.#inflatingBytes = held;
      return !this.#ended && this.#holds();
    };
    inflateMessage(bytes, encoding, { maxSize: this.#options.maxMessageSize, hold }, (message) => {
      this.#inflating = false;
      this.#inflatingBytes = 0;
      if (this.#ended) return;
      if (Buffer.isBuffer(message)) this.#give(message);
      else this.#abort(message.status, message.message);
      this.#read();
    });
  }

  #give(message: Buffer): void {
    try {
      this.#handler.message(message);
    } catch (error) {
      const { code, message: text } = TritonError.from(error);
      if (!this.#ended) this.#abort(STATUS_OF_CODE[code], text);
    }
    if (this.#patience !== undefined) this.drain();
  }

  // Ends the call before it cancels the requests. Otherwise the core's word about the cancellation would be the answer.
  #abort(status: GrpcStatus, message: string): void {
    this.#stop();
    this.#sender.finish(() => this.#call.fail(status, message));
    this.#handler.cancel();
  }

  /** Takes and gives no more messages. Messages given so far are still sent. */
  #stop(): void {
    this.#ended = true;
    this.#frames.close();
    this.#deadline?.clear();
    this.#patience?.clear();
    this.#options.onEnd(this);
  }

  #end(): void {
    this.#stop();
    this.#sender.close();
  }
}
