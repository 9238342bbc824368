// gRPC's compression of single messages, gzip and deflate (zlib's format), both ways. No message inflates beyond its size limit.
// Large messages are processed in another thread, so that other calls need not wait.

import { createDeflate, createGzip, deflateSync, gunzipSync, gzipSync, inflateSync, type Zlib } from 'node:zlib';

import { listElements } from '../../ascii.js';
import { type InflateLimits, inflateLater } from '../inflate.js';
import { writeInTurns } from '../write-in-turns.js';
import { GRPC_STATUS, type GrpcStatus } from './grpc-status.js';
import { MESSAGE_PREFIX_BYTES } from './message-frame.js';

export type MessageEncoding = 'gzip' | 'deflate';

/** The encodings that the server accepts, as its answers list them. */
export const ACCEPTED_ENCODINGS = 'identity,deflate,gzip';

/** How hard answers are compressed. */
export const COMPRESSION_LEVELS = ['none', 'low', 'medium', 'high'] as const;
export type CompressionLevel = (typeof COMPRESSION_LEVELS)[number];

const ZLIB_LEVEL: Readonly<Record<Exclude<CompressionLevel, 'none'>, number>> = { low: 1, medium: 6, high: 9 };

/** Messages up to this size, plain or compressed, are processed at once. */
const LARGEST_INLINE_BYTES = 16 * 1024;
const LARGEST_INLINE_RESULT = 128 * 1024;
const CHUNK_SIZE = 256 * 1024;

/** Why a compressed message cannot be read. */
export interface InflateFailure {
  readonly status: GrpcStatus;
  readonly message: string;
}

/** True for the values of grpc-encoding that the server supports. */
export function isKnownEncoding(encoding: string | undefined): boolean {
  return encoding === undefined || encoding === 'identity' || encoding === 'gzip' || encoding === 'deflate';
}

/** Calls back with the message, or with the reason for a failure. A small message is inflated at once. */
export function inflateMessage(
  compressed: Buffer,
  encoding: MessageEncoding,
  { maxSize, hold }: InflateLimits,
  done: (message: Buffer | InflateFailure) => void,
): void {
  // Neither form is ever this short. gRPC's own library reads it as an empty message.
  if (compressed.length === 0) {
    done(compressed);
    return;
  }
  const options = { info: true, chunkSize: Math.max(1024, Math.min(compressed.length * 4, 256 * 1024)) };
  if (compressed.length <= LARGEST_INLINE_BYTES) {
    const limit = Math.min(maxSize, LARGEST_INLINE_RESULT);
    const run = encoding === 'gzip' ? gunzipSync : inflateSync;
    try {
      const inflated = run(compressed, { ...options, maxOutputLength: Math.max(1, limit) });
      const message = checked(inflated, compressed, encoding);
      done(Buffer.isBuffer(message) && !hold(message.length) ? NO_ROOM : message);
      return;
    } catch (error) {
      if (!isTooLarge(error) || limit === maxSize) {
        done(failureOf(error, encoding, maxSize));
        return;
      }
    }
  }
  inflateLater(compressed, encoding, { maxSize, hold }, (result) => {
    if (Buffer.isBuffer(result)) done(result);
    else if (result.kind === 'no room') done(NO_ROOM);
    else done(result.kind === 'corrupt' ? corrupt(encoding) : tooLarge(maxSize));
  });
}

/** Refuses bytes behind the compressed data. */
function checked(result: unknown, compressed: Buffer, encoding: MessageEncoding): Buffer | InflateFailure {
  const { buffer, engine } = result as { readonly buffer: Buffer; readonly engine: Zlib };
  return engine.bytesWritten === compressed.length ? buffer : corrupt(encoding);
}

function isTooLarge(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
}

function failureOf(error: unknown, encoding: MessageEncoding, maxMessageSize: number): InflateFailure {
  return isTooLarge(error) ? tooLarge(maxMessageSize) : corrupt(encoding);
}

const NO_ROOM: InflateFailure = {
  status: GRPC_STATUS.RESOURCE_EXHAUSTED,
  message: 'there is no room for what the message inflates to: try again later',
};

function tooLarge(maxMessageSize: number): InflateFailure {
  return {
    status: GRPC_STATUS.RESOURCE_EXHAUSTED,
    message: `Received message larger than max after decompression (max ${maxMessageSize})`,
  };
}

function corrupt(encoding: MessageEncoding): InflateFailure {
  return {
    status: GRPC_STATUS.INTERNAL,
    message: `Unexpected error decompressing data for algorithm ${encoding}`,
  };
}

/** How the answers of one call are compressed. */
export interface MessageCompression {
  readonly encoding: MessageEncoding;
  readonly level: Exclude<CompressionLevel, 'none'>;
}

/** The compression for a client with this grpc-accept-encoding header; undefined for plain answers. */
export function chooseCompression(
  level: CompressionLevel,
  acceptEncoding: string | undefined,
): MessageCompression | undefined {
  if (level === 'none' || acceptEncoding === undefined) return undefined;
  const accepted = listElements(acceptEncoding);
  const encoding = (['gzip', 'deflate'] as const).find((name) => accepted.includes(name));
  return encoding === undefined ? undefined : { encoding, level };
}

/**
 * Calls back with the compressed frame, or with the original frame if compression makes it no smaller. A small message is
 * compressed at once.
 */
export function compressFrame(
  frame: readonly Uint8Array[],
  { encoding, level }: MessageCompression,
  done: (frame: readonly Uint8Array[]) => void,
): void {
  const options = { level: ZLIB_LEVEL[level], chunkSize: CHUNK_SIZE };
  const messageLength = frame.reduce((size, part) => size + part.byteLength, 0) - MESSAGE_PREFIX_BYTES;
  if (messageLength <= LARGEST_INLINE_BYTES) {
    const whole = frame.length === 1 ? asBuffer(frame[0]!) : Buffer.concat(frame);
    const message = whole.subarray(MESSAGE_PREFIX_BYTES);
    const compressed = encoding === 'gzip' ? gzipSync(message, options) : deflateSync(message, options);
    done(compressed.length < messageLength ? [prefixOf(compressed.length), compressed] : [whole]);
    return;
  }
  const stream = encoding === 'gzip' ? createGzip(options) : createDeflate(options);
  const pieces: Uint8Array[] = [];
  let size = 0;
  stream.on('data', (piece: Buffer) => {
    pieces.push(piece);
    size += piece.length;
  });
  stream.on('end', () => done(size < messageLength ? [prefixOf(size), ...pieces] : frame));
  // Compression fails only when memory is short. The plain frame is always correct.
  stream.on('error', () => done(frame));
  writeInTurns(stream, withoutPrefix(frame));
}

function withoutPrefix(frame: readonly Uint8Array[]): readonly Uint8Array[] {
  let prefix = MESSAGE_PREFIX_BYTES;
  return frame.map((part) => {
    const skipped = Math.min(prefix, part.byteLength);
    prefix -= skipped;
    return part.subarray(skipped);
  });
}

function asBuffer(bytes: Uint8Array): Buffer {
  return bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The prefix of a compressed message. */
function prefixOf(length: number): Buffer {
  const prefix = Buffer.alloc(MESSAGE_PREFIX_BYTES);
  prefix[0] = 1;
  prefix.writeUInt32BE(length, 1);
  return prefix;
}
