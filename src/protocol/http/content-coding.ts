// Compression of bodies, gzip and deflate (zlib's format), both ways. Requests are read as Triton reads them, and answers
// negotiated by RFC 9110 (section 12.5.3). No body inflates beyond its limit.

import { createDeflate, createGzip, deflateSync, gzipSync } from 'node:zlib';

import { listElements, lowerCase, trimBlanks } from '../../ascii.js';
import { type ErrorCode, invalidArg, TritonError } from '../../errors.js';
import { type InflateFault, type InflateLimits, inflateLater } from '../inflate.js';
import { writeInTurns } from '../write-in-turns.js';

export type ContentCoding = 'identity' | 'gzip' | 'deflate';

/** The supported codings, which the refusal of another Content-Encoding names. */
export const REQUEST_CODINGS = 'gzip, deflate';

/** The coding of a request's body. As in Triton, it must be spelt exactly: throws UNSUPPORTED for any other. */
export function requestCoding(contentEncoding: string | undefined): ContentCoding {
  if (contentEncoding === undefined || contentEncoding === 'identity') return 'identity';
  if (contentEncoding === 'gzip' || contentEncoding === 'deflate') return contentEncoding;
  throw new TritonError('UNSUPPORTED', 'Unsupported compression type');
}

/** The largest compressed body that may inflate to `maxInflatedSize`. Data that does not shrink grows a little. */
export function maxCompressedSize(maxInflatedSize: number): number {
  return maxInflatedSize + Math.ceil(maxInflatedSize / 1000) + 1024;
}

/**
 * Inflates a body of either coding. Its first bytes decide which, as in Triton. Rejects with the code `tooLarge` as soon as the body
 * inflates beyond its limit, and with INVALID_ARG for corrupt, missing or surplus data. Rejects with UNAVAILABLE when there is no
 * room for the body.
 */
export function inflateBody(
  body: Buffer,
  limits: InflateLimits,
  tooLarge: 'INVALID_ARG' | 'TOO_LARGE' = 'INVALID_ARG',
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (body.length === 0) {
      reject(invalidArg('nothing to be decompressed'));
      return;
    }
    inflateLater(body, 'either', limits, (result) => {
      if (Buffer.isBuffer(result)) resolve(result);
      else reject(inflateFailure(result, limits.maxSize, tooLarge));
    });
  });
}

function inflateFailure(fault: InflateFault, maxSize: number, tooLarge: ErrorCode): TritonError {
  if (fault.kind === 'corrupt') {
    const { reason, cause } = fault;
    return invalidArg(`failed to decompress the request body: ${reason}`, { cause });
  }
  if (fault.kind === 'no room') {
    return new TritonError('UNAVAILABLE', 'there is no room for what the request inflates to: try again later');
  }
  return new TritonError(
    tooLarge,
    `Decompressed data size exceeds the maximum allowed value of ${maxSize} bytes. Use --http-max-input-size to increase the limit.`,
  );
}

/**
 * The coding for an answer: the first that the client gives the highest weight. `*` prefers the plain form. Malformed elements
 * are ignored, and without another match the answer is plain.
 */
export function answerCoding(acceptEncoding: string | undefined): ContentCoding {
  if (acceptEncoding === undefined || acceptEncoding === '') return 'identity';
  const weights = new Map<string, number>();
  for (const element of listElements(lowerCase(acceptEncoding))) {
    const [name = '', parameter] = element.split(';', 2).map(trimBlanks);
    const weight = parameter === undefined ? 1 : weightOf(parameter);
    const coding = name === 'x-gzip' ? 'gzip' : name;
    if (weight !== undefined && !weights.has(coding)) weights.set(coding, weight);
  }
  let chosen: ContentCoding = 'identity';
  let best = 0;
  for (const [name, weight] of weights) {
    if (weight <= best) continue;
    const coding = name === '*' ? CODINGS.find((candidate) => !weights.has(candidate)) : codingCalled(name);
    if (coding === undefined) continue;
    chosen = coding;
    best = weight;
  }
  return chosen;
}

/** Our order of preference, when the client leaves the choice to us. */
const CODINGS: readonly ContentCoding[] = ['identity', 'gzip', 'deflate'];

function codingCalled(name: string): ContentCoding | undefined {
  return CODINGS.find((coding) => coding === name);
}

// Weights over 1, or with more digits than RFC 9110 allows, keep their value.
function weightOf(parameter: string): number | undefined {
  const digits = /^q[\t ]*=[\t ]*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)$/.exec(parameter)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** Larger bodies are compressed in another thread, so that other requests need not wait. */
const LARGEST_INLINE = 8 * 1024;
const CHUNK_SIZE = 256 * 1024;

/** Ends the compression without a result. */
export type CancelCompression = () => void;

/**
 * Calls back with the parts of the compressed body, or with undefined when memory is short. A small body is compressed at once.
 * `parts` together are one body. Returns how to cancel it, unless it is done.
 */
export function compressBody(
  parts: readonly Uint8Array[],
  coding: Exclude<ContentCoding, 'identity'>,
  done: (parts: readonly Uint8Array[] | undefined) => void,
): CancelCompression | undefined {
  let compressed: Buffer | undefined;
  try {
    if (parts.reduce((size, part) => size + part.byteLength, 0) > LARGEST_INLINE) {
      return compressLater(parts, coding, done);
    }
    const body = Buffer.concat(parts);
    compressed = coding === 'gzip' ? gzipSync(body) : deflateSync(body);
  } catch {
    compressed = undefined;
  }
  done(compressed && [compressed]);
  return undefined;
}

function compressLater(
  parts: readonly Uint8Array[],
  coding: Exclude<ContentCoding, 'identity'>,
  done: (parts: readonly Uint8Array[] | undefined) => void,
): CancelCompression {
  const stream = coding === 'gzip' ? createGzip({ chunkSize: CHUNK_SIZE }) : createDeflate({ chunkSize: CHUNK_SIZE });
  const pieces: Buffer[] = [];
  stream.on('data', (piece: Buffer) => pieces.push(piece));
  stream.on('end', () => done(pieces));
  stream.on('error', () => done(undefined));
  writeInTurns(stream, parts);
  return () => void stream.destroy();
}
