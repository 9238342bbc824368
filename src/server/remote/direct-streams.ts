// The connections that callables of one link have of their own, by the channel whose messages they carry.

import { invalidArg, TritonError } from '../../errors.js';
import type { AnswerStream, StreamHandler } from '../../frontend/grpc/stream-call.js';
import { expectArray } from '../../link/stream/check-values.js';
import { decodeMessage, SERVER_LIMITS } from '../../link/stream/stream-message.js';
import { ServedTimer } from '../../pacing/served-timer.js';
import { DirectStream } from './direct-stream.js';

const MOST_STREAMS = 10_000;
/**
 * The end of a channel and that of its stream must follow each other this soon. A channel that stays open without its stream has
 * lost the callable's connection.
 */
const ENDED_MILLISECONDS = 5000;
/**
 * Between two empty messages to a callable: proxies end what is idle, and a callable that blocks its thread cannot ping.
 */
const BEAT_MILLISECONDS = 1000;

/** What the streams need of their link. */
export interface DirectLink {
  isOpen(channel: number): boolean;
  /** Takes a message of the callable behind a channel. Throws for what no callable sends. */
  receive(channel: number, value: unknown): void;
  /** Ends the link: a callable has sent what none sends, or has lost its connection. */
  end(error: TritonError): void;
}

interface Direct {
  readonly stream: DirectStream;
  /** Runs from the end of either the stream or its channel to the end of the other. */
  limit: ServedTimer | undefined;
  /** Called when the stream has ended after its channel. */
  afterLast: (() => void) | undefined;
}

export class DirectStreams {
  readonly #link: DirectLink;
  readonly #directs = new Map<number, Direct>();
  /** Runs once there is a stream. */
  #beats: NodeJS.Timeout | undefined;

  constructor(link: DirectLink) {
    this.#link = link;
  }

  /** Those that have not ended. */
  get living(): number {
    let count = 0;
    for (const { stream } of this.#directs.values()) if (!stream.isOver) count++;
    return count;
  }

  /** The stream that carries the messages of a channel. Undefined: the link itself does. */
  of(channel: number): DirectStream | undefined {
    return this.#directs.get(channel)?.stream;
  }

  /** Takes the stream for a channel that is not open yet, and has none. Returns undefined for any other channel. */
  take(channel: number, stream: AnswerStream): StreamHandler | undefined {
    if (this.#link.isOpen(channel) || this.#directs.has(channel) || this.#directs.size >= MOST_STREAMS)
      return undefined;
    const direct: Direct = {
      stream: new DirectStream(stream, {
        channel,
        onMessage: (bytes) => this.#receive(channel, direct, bytes),
        onEnded: () => this.#ended(channel, direct),
      }),
      limit: undefined,
      afterLast: undefined,
    };
    this.#directs.set(channel, direct);
    // Says that it is taken.
    direct.stream.send([]);
    this.#beats ??= setInterval(() => this.#beat(), BEAT_MILLISECONDS).unref();
    return direct.stream;
  }

  /** One of the channel's ends has closed it. */
  close(channel: number): void {
    const direct = this.#directs.get(channel);
    this.#directs.delete(channel);
    direct?.limit?.clear();
    direct?.stream.close();
  }

  /** The callable's end of a channel is closed. Calls back when all has come that it had sent. */
  afterLast(channel: number, callback: () => void): void {
    const direct = this.#directs.get(channel);
    if (direct === undefined || direct.stream.isOver) return callback();
    direct.afterLast = callback;
    direct.limit ??= new ServedTimer(callback, ENDED_MILLISECONDS);
  }

  /** The link is over. */
  closeAll(): void {
    clearInterval(this.#beats);
    for (const channel of this.#directs.keys()) this.close(channel);
  }

  #beat(): void {
    for (const { stream } of this.#directs.values()) stream.beat();
  }

  #receive(channel: number, { stream }: Direct, bytes: Buffer): void {
    try {
      const { channel: named, value } = decodeMessage(bytes, SERVER_LIMITS);
      if (named !== channel) throw invalidArg(`a message for channel ${named} came by the connection of ${channel}`);
      // A ping.
      if (expectArray(value, 'a message').length === 0) stream.send([]);
      else this.#link.receive(channel, value);
    } catch (thrown) {
      const error = TritonError.from(thrown);
      this.#link.end(error);
      throw error;
    }
  }

  #ended(channel: number, direct: Direct): void {
    if (!this.#link.isOpen(channel)) return void this.#directs.delete(channel);
    if (direct.afterLast !== undefined) return direct.afterLast();
    const lost = new TritonError('UNAVAILABLE', 'the connection of a callable is lost');
    direct.limit = new ServedTimer(() => this.#link.end(lost), ENDED_MILLISECONDS);
  }
}
