// HEADERS and CONTINUATION as they are received: from frames to fields, and from fields to the stream that they are for
// (RFC 9113, sections 4.3, 5.1 and 8.1). Every block is decoded, whatever becomes of it, as later ones build on it.

import { FLAG, readUint31, type FrameHead } from './frame.js';
import { HeaderBlock, type HeadersFlags } from './header-block.js';
import type { HeaderList } from './header-list.js';
import { HpackDecoder, type HpackDecoderOptions } from './hpack/hpack-decoder.js';
import { Http2Error } from './http2-error.js';
import type { ReceivingConnection } from './receiving-connection.js';
import type { StreamState } from './stream-state.js';

const PRIORITY_BYTES = 5;
/** How many times longer than an acceptable list a block may be, so that its sender gets a proper answer. */
const TOLERATED = 4;
/**
 * At a client. gRPC's C++ servers, NVIDIA's tritonserver among them, tell up to four times that a call's deadline has passed, and
 * deadlines of thousands of calls may pass together. The stream is over in any case, and the other calls go on.
 */
const COST_OF_REPETITION = 1 / 16;

export class HeaderReceiver {
  readonly #connection: ReceivingConnection;
  readonly #decoder: HpackDecoder;
  /** That is not complete: on its stream nothing but its CONTINUATION may come now. Of stream 0: there is none. */
  readonly block = new HeaderBlock();
  readonly #longestBlock: number;

  constructor(connection: ReceivingConnection, options: HpackDecoderOptions) {
    this.#connection = connection;
    this.#decoder = new HpackDecoder(options);
    this.#longestBlock = options.maxListSize * TOLERATED;
  }

  settingsAcknowledged(): void {
    this.#decoder.settingsAcknowledged();
  }

  /** False when the frame would make its block too long: the connection has failed. */
  begins({ length }: FrameHead): boolean {
    if (this.block.length + length <= this.#longestBlock) return true;
    this.#connection.fail(
      new Http2Error('ENHANCE_YOUR_CALM', `a header block of more than ${this.#longestBlock} bytes`),
    );
    return false;
  }

  headers(
    { flags, streamId }: FrameHead,
    bytes: Buffer,
    range: { readonly start: number; readonly end: number },
  ): void {
    const isPadded = (flags & FLAG.PADDED) !== 0;
    const isPrioritized = (flags & FLAG.PRIORITY) !== 0;
    const padding = isPadded && range.start < range.end ? bytes[range.start]! : 0;
    const priorityAt = range.start + (isPadded ? 1 : 0);
    const start = priorityAt + (isPrioritized ? PRIORITY_BYTES : 0);
    const end = range.end - padding;
    if (start > end) {
      this.#connection.fail(new Http2Error('PROTOCOL_ERROR', 'HEADERS too short for its padding and its priority'));
      return;
    }
    const block: HeadersFlags = {
      endsStream: (flags & FLAG.END_STREAM) !== 0,
      dependsOnItself: isPrioritized && readUint31(bytes, priorityAt) === streamId,
    };
    if ((flags & FLAG.END_HEADERS) !== 0) {
      this.#decode(streamId, block, bytes, { start, end });
      return;
    }
    this.block.begin(streamId, block);
    this.block.append(bytes, start, end);
  }

  /** Of the open block. */
  continuation(head: FrameHead, bytes: Buffer, { start, end }: { readonly start: number; readonly end: number }): void {
    // One costs as much as many bytes in one frame do.
    if (!this.#connection.charge(1, 'CONTINUATION')) return;
    this.block.append(bytes, start, end);
    if ((head.flags & FLAG.END_HEADERS) === 0) return;
    const { streamId, flags } = this.block;
    const block = this.block.finish();
    this.#decode(streamId, flags, block, { start: 0, end: block.length });
  }

  #decode(
    streamId: number,
    flags: HeadersFlags,
    bytes: Buffer,
    { start, end }: { readonly start: number; readonly end: number },
  ): void {
    let headers: HeaderList;
    try {
      headers = this.#decoder.decode(bytes, start, end);
    } catch (error) {
      if (!(error instanceof Http2Error)) throw error;
      this.#connection.fail(error);
      return;
    }
    const { role, streams } = this.#connection;
    const stream = streams.find(streamId);
    if (stream !== undefined) this.#toStream(stream, flags, headers);
    else if (role === 'server' && streamId > streams.lastPeerId && !streams.isLocal(streamId)) {
      this.#toNewStream(streamId, flags, headers);
    } else this.#toNoStream(streamId);
  }

  #toStream(stream: StreamState, { endsStream, dependsOnItself }: HeadersFlags, headers: HeaderList): void {
    const connection = this.#connection;
    if (stream.endIsReceived) {
      connection.lifecycle.failStream(stream.id, 'STREAM_CLOSED', 'HEADERS after the end of the message');
      return;
    }
    const part = stream.headIsReceived ? 'trailers' : 'response';
    const problem = dependsOnItself ? 'a stream that depends on itself' : problemOf(headers, part, endsStream);
    if (problem !== undefined) {
      connection.lifecycle.failStream(stream.id, 'PROTOCOL_ERROR', `malformed ${part}: ${problem}`);
      return;
    }
    if (part === 'response') {
      stream.headIsReceived = !isInformational(headers);
      // An answer to HEAD, or 304, tells the length of what would have been sent (section 8.1.1).
      stream.missingBytes = endsStream ? undefined : headers.contentLength;
    }
    stream.endIsReceived = endsStream;
    if (endsStream && (stream.missingBytes ?? 0) > 0) {
      connection.lifecycle.failStream(stream.id, 'PROTOCOL_ERROR', 'a message shorter than its content-length');
      return;
    }
    connection.lifecycle.tellHeaders(stream, headers);
    if (endsStream && !stream.isClosed) connection.lifecycle.tellEnd(stream);
  }

  #toNewStream(streamId: number, flags: HeadersFlags, headers: HeaderList): void {
    const { streams, lifecycle } = this.#connection;
    streams.lastPeerId = streamId;
    let problem = flags.dependsOnItself ? 'a stream that depends on itself' : headers.problemAs('request');
    if (problem === undefined && flags.endsStream && (headers.contentLength ?? 0) > 0) {
      problem = 'content-length, and no content';
    }
    if (problem === undefined) lifecycle.accept(streamId, headers, flags.endsStream);
    else lifecycle.failStream(streamId, 'PROTOCOL_ERROR', `malformed request: ${problem}`);
  }

  #toNoStream(streamId: number): void {
    const connection = this.#connection;
    const { role, streams } = connection;
    const state = streams.stateOf(streamId);
    if (role === 'client' && state !== 'idle')
      connection.charge(COST_OF_REPETITION, 'HEADERS on streams that have ended');
    else if (state === 'reset') connection.charge(1, 'HEADERS on streams that were reset');
    else if (state === 'closed' && streams.hasClosedRecently(streamId)) {
      connection.fail(new Http2Error('STREAM_CLOSED', `HEADERS on stream ${streamId}, which has ended`));
    } else {
      // Nobody opened it. Streams that the peer left out count as closed, but opening them is this error (section 5.1.1).
      connection.fail(new Http2Error('PROTOCOL_ERROR', `HEADERS on stream ${streamId}, which may not be opened now`));
    }
  }
}

function problemOf(headers: HeaderList, part: 'response' | 'trailers', endsStream: boolean): string | undefined {
  const problem = headers.problemAs(part);
  if (problem !== undefined || endsStream === (part === 'trailers')) return problem;
  if (part === 'trailers') return 'they do not end the message';
  return isInformational(headers) ? 'an informational one that ends the message' : undefined;
}

function isInformational(headers: HeaderList): boolean {
  return headers.get(':status')!.startsWith('1');
}
