// One call with streams of messages: takes its requests apart, inflates them in order, keeps its deadline, and sends
// what the method answers. The client is made to wait while the method asks for that.

import { TritonError } from '../../errors.js';
import { GRPC_STATUS, STATUS_OF_CODE, type GrpcStatus } from '../../protocol/grpc/grpc-status.js';
import {
  chooseCompression,
  inflateMessage,
  type CompressionLevel,
  type MessageEncoding,
} from '../../protocol/grpc/message-compression.js';
import { MessageFrameReader, type ReceivedMessage } from '../../protocol/grpc/message-frame.js';
import { CallDeadline } from './call-deadline.js';
import { type CallListener, type GrpcCall, NO_ROOM } from './grpc-call.js';
import { MessageSender } from './message-sender.js';
import { requestMemory } from './request-memory.js';
import type { CallContext } from './unary-call.js';

/** What a method does with the stream that it serves. */
export interface StreamHandler {
  /** The next request message. What it throws ends the stream. */
  message(bytes: Buffer): void;
  /** The client will send no more. */
  halfClosed(): void;
  /** Nobody waits for answers any more; the stream has ended. */
  cancel(): void;
  /** The server stops: the stream is to end as soon as it can. */
  drain(): void;
}

/** The side of a stream that answers go to. It ends once, by either of `finish` and `fail`. */
export interface AnswerStream extends CallContext {
  /** One message as a frame. `memory`: see that of ModelInferResponse. A promise: the reader is slow. */
  send(frame: readonly Uint8Array[], memory?: ArrayBuffer): void | Promise<void>;
  /** While the reader is slow: resolves when it has caught up. */
  readonly room: Promise<void> | undefined;
  /** No further `message` before {@link resume}. */
  hold(): void;
  resume(): void;
  /** The handler has so many bytes of messages that it was given. False, and it is as before, when there is no room for them. */
  keep(bytes: number): boolean;
  /** Ends the stream with OK. */
  finish(): void;
  /** Ends the stream with this error after what was sent. */
  fail(error: TritonError): void;
}

export interface StreamMethod {
  /** Largest request message in bytes, if that is less than the server takes. */
  readonly maxMessageSize?: number;
  /** How its answers are compressed for clients that accept that. Default: not at all. */
  readonly compression?: CompressionLevel;
  open(stream: AnswerStream): StreamHandler;
}

export interface StreamCallOptions {
  readonly maxMessageSize: number;
  /** Called when the call has ended. */
  readonly onEnd: (call: StreamCall) => void;
}

/** So many messages of one stream are taken in a turn: a thousand fit into what is read from a socket at once. */
const MESSAGES_AT_ONCE = 64;

export class StreamCall implements CallListener, AnswerStream {
  readonly rawHeaders: readonly string[];
  readonly #call: GrpcCall;
  readonly #options: StreamCallOptions;
  readonly #frames: MessageFrameReader;
  readonly #sender: MessageSender;
  readonly #deadline: CallDeadline | undefined;
  readonly #handler: StreamHandler;
  #halfClosed = false;
  #toldHalfClose = false;
  #paused = false;
  #reading = false;
  #held = false;
  /** What the handler has of messages. */
  #kept = 0;
  #inflating = false;
  /** What the message that is inflated holds. */
  #inflatingBytes = 0;
  /** Until the next turn of the event loop. */
  #resting = false;
  #ended = false;

  constructor(call: GrpcCall, method: StreamMethod, options: StreamCallOptions) {
    this.rawHeaders = call.rawHeaders;
    this.#call = call;
    this.#options = options;
    this.#frames = new MessageFrameReader(options.maxMessageSize, call.header('grpc-encoding'), true, requestMemory);
    const compression = chooseCompression(method.compression ?? 'none', call.header('grpc-accept-encoding'));
    this.#sender = new MessageSender(call, compression);
    this.#handler = method.open(this);
    const timeout = call.header('grpc-timeout');
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

  header(name: string): string | undefined {
    return this.#call.header(name);
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

  onHalfClose(): void {
    this.#halfClosed = true;
    this.#read();
  }

  onDrain(): void {
    this.#sender.drained();
  }

  onCancel(): void {
    if (this.#ended) return;
    this.#end();
    this.#handler.cancel();
  }

  /** The deadline has passed. */
  expire(): void {
    if (this.#ended) return;
    // Behind answers that nobody takes, a status would not arrive either.
    if (this.#sender.room !== undefined) {
      this.#end();
      this.#call.reset();
      this.#handler.cancel();
    } else this.#abort(GRPC_STATUS.DEADLINE_EXCEEDED, 'Deadline Exceeded');
  }

  /** The server stops. */
  drain(): void {
    if (!this.#ended) this.#handler.drain();
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

  /** Hands over what has come, as far as the method takes it. */
  #read(): void {
    // A method may hold and resume while it is given a message.
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
    const target = this.#frames.target();
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

  /** Counts all that is here of the client's messages. */
  #holds(): boolean {
    const { heldBytes, wholeBytes } = this.#frames;
    const others = this.#kept + this.#inflatingBytes;
    // With requests under way it is not to be ended for others.
    return this.#call.hold(others + heldBytes, others > 0 ? others + heldBytes : wholeBytes);
  }

  get #waits(): boolean {
    return this.#held || this.#inflating || this.#resting;
  }

  /** Lets others have their turn. */
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
    const encoding = this.#call.header('grpc-encoding') as MessageEncoding;
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
  }

  // Ends before it cancels, so that the answer is not what the core says about the cancellation.
  #abort(status: GrpcStatus, message: string): void {
    this.#stop();
    this.#sender.finish(() => this.#call.fail(status, message));
    this.#handler.cancel();
  }

  /** Takes and gives no more; what was given is still sent. */
  #stop(): void {
    this.#ended = true;
    this.#frames.close();
    this.#deadline?.clear();
    this.#options.onEnd(this);
  }

  #end(): void {
    this.#stop();
    this.#sender.close();
  }
}
