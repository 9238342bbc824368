// The server's end of a connection that a callable has of its own. It carries the messages of one channel of a link.

import type { AnswerStream, StreamHandler } from '../../frontend/grpc/stream-call.js';
import { encodeMessage } from '../../link/stream/stream-message.js';
import { MESSAGE_PREFIX_BYTES, writePrefix } from '../../protocol/grpc/message-frame.js';

export interface DirectStreamOptions {
  readonly channel: number;
  /** Takes a message. The stream ends with the error that it throws. */
  readonly onMessage: (bytes: Buffer) => void;
  /** Called once, when the callable's end has ended the stream. */
  readonly onEnded: () => void;
}

export class DirectStream implements StreamHandler {
  readonly #stream: AnswerStream;
  readonly #options: DirectStreamOptions;
  #isOver = false;

  /** Whether it has ended. */
  get isOver(): boolean {
    return this.#isOver;
  }

  constructor(stream: AnswerStream, options: DirectStreamOptions) {
    this.#stream = stream;
    this.#options = options;
  }

  message(bytes: Buffer): void {
    this.#options.onMessage(bytes);
    answersBeforeMore(this.#stream);
  }

  halfClosed(): void {
    this.close();
    this.#options.onEnded();
  }

  /** The link decides when it ends. */
  drain(): void {}

  cancel(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.onEnded();
  }

  send(value: unknown): void {
    if (!this.#isOver) sendMessage(this.#stream, this.#options.channel, value);
  }

  /** Sends an empty message, unless others wait to be read. */
  beat(): void {
    if (this.#stream.room === undefined) this.send([]);
  }

  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stream.finish();
  }
}

/** Sends a message of a link. */
export function sendMessage(stream: AnswerStream, channel: number, value: unknown): void {
  const pieces = encodeMessage({ channel, value }, MESSAGE_PREFIX_BYTES);
  writePrefix(pieces);
  void stream.send(pieces);
}

/** A process that does not read gets nothing to answer. */
export function answersBeforeMore(stream: AnswerStream): void {
  const { room } = stream;
  if (room === undefined) return;
  stream.hold();
  void room.then(() => stream.resume());
}
