// The gRPC call that a link is, at the end of the process that binds models: messages both ways until either end ends it.

import { TritonError } from '../errors.js';
import { Call } from '../client/call.js';
import { GrpcExchange } from '../client/grpc/grpc-exchange.js';
import type { Http2Connection } from '../client/grpc/http2-connection.js';
import type { Http2Error } from '../http2/http2-error.js';
import type { Http2Stream } from '../http2/http2-stream.js';
import { encodeMessage, SERVER_LIMITS } from '../link/stream/stream-message.js';
import { MESSAGE_PREFIX_BYTES, type MessageFrameReader, writePrefix } from '../protocol/grpc/message-frame.js';

const LARGEST_MESSAGE = 2_147_483_647;

export interface LinkCallOptions {
  readonly connection: Http2Connection;
  /** For error messages. */
  readonly address: string;
  /** Of the server's gRPC port. */
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Takes a message. The link ends with the error that it throws. */
  readonly onMessage: (bytes: Buffer) => void;
  /** Called once, when the call has ended, in order or not. */
  readonly onEnd: (error: TritonError, isInOrder: boolean) => void;
}

export class LinkCall extends GrpcExchange {
  readonly #options: LinkCallOptions;
  readonly #queued: Uint8Array[] = [];
  #isOver = false;
  /** The largest message that the server takes. */
  maxMessageBytes = LARGEST_MESSAGE;

  constructor(options: LinkCallOptions) {
    const { connection, address, method, headers } = options;
    const request = { method, chunks: [], headers, maxResponseBytes: LARGEST_MESSAGE, address };
    // A link lasts as long as both ends want it.
    const call = new Call({ timeoutMs: 1, signals: [], subject: `the link to ${address}` });
    call.pause();
    super(connection, request, call, undefined);
    this.#options = options;
    connection.acquire();
    connection.open(this);
  }

  /** Throws TOO_LARGE for a message that no server takes. */
  send(channel: number, value: unknown): void {
    if (this.#isOver) return;
    const pieces = encodeMessage({ channel, value }, MESSAGE_PREFIX_BYTES, SERVER_LIMITS);
    const length = writePrefix(pieces);
    if (length > this.maxMessageBytes) {
      throw new TritonError(
        'TOO_LARGE',
        `a message of ${length} bytes is too large for a link, expected at most ${this.maxMessageBytes}`,
      );
    }
    const { stream } = this;
    if (stream === undefined) this.#queued.push(...pieces);
    else for (const piece of pieces) stream.sendData(piece);
  }

  /** Says that nothing more comes, so that the server ends the call. */
  halfClose(): void {
    if (!this.#isOver) this.stream?.sendData(new Uint8Array(0), true);
  }

  /** Ends the call for this reason. */
  abort(error: TritonError): void {
    if (this.#isOver) return;
    this.leave();
    this.#end(error);
  }

  override opened(stream: Http2Stream): void {
    super.opened(stream);
    for (const piece of this.#queued.splice(0)) stream.sendData(piece);
  }

  protected override read(reader: MessageFrameReader): void {
    try {
      for (let message = reader.next(); message !== undefined && !this.#isOver; message = reader.next()) {
        this.#options.onMessage(message.bytes);
      }
    } catch (error) {
      return this.abort(TritonError.from(error));
    }
    if (this.#isOver) return;
    const target = reader.target();
    if (target !== undefined) this.stream!.receiveInto(target);
    const error = this.failure;
    if (error !== undefined) this.failed(error);
  }

  protected override failed(error: TritonError): void {
    this.abort(error);
  }

  protected override ended(error: Http2Error | undefined): void {
    if (this.#isOver) return;
    const { address } = this.#options;
    try {
      const unprocessed = this.outcome(error);
      if (unprocessed === undefined) this.#end(new TritonError('UNAVAILABLE', `${address} has ended the link`), true);
      else this.#end(unprocessed.error);
    } catch (thrown) {
      this.#end(TritonError.from(thrown));
    }
  }

  #end(error: TritonError, isInOrder = false): void {
    this.#isOver = true;
    this.call.end();
    this.connection.release();
    this.#options.onEnd(error, isInOrder);
  }
}
