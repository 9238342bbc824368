// Compression of bodies, gzip and deflate (zlib's format) both ways: requests as Triton takes them, answers negotiated
// as RFC 9110 (section 12.5.3) says. Nothing inflates to more than its limit.

import { createDeflate, createGzip, deflateSync, gzipSync } from 'node:zlib';

import { listElements, lowerCase, trimBlanks } from '../../ascii.js';
import { invalidArg, TritonError } from '../../errors.js';
import { type InflateFault, type InflateLimits, inflateLater } from '../inflate.js';

export type ContentCoding = 'identity' | 'gzip' | 'deflate';

/** What a refused Content-Encoding is told that would be understood. */
export const REQUEST_CODINGS = 'gzip, deflate';

/** The coding of a request's body. Throws UNSUPPORTED for any but ours, spelt exactly, as Triton does. */
export function requestCoding(contentEncoding: string | undefined): ContentCoding {
  if (contentEncoding === undefined || contentEncoding === 'identity') return 'identity';
  if (contentEncoding === 'gzip' || contentEncoding === 'deflate') return contentEncoding;
  throw new TritonError('UNSUPPORTED', 'Unsupported compression type');
}

/** The largest compressed body that may inflate to `maxInflatedSize`: data that does not shrink grows a little. */
export function maxCompressedSize(maxInflatedSize: number): number {
  return maxInflatedSize + Math.ceil(maxInflatedSize / 1000) + 1024;
}

/**
 * Inflates a body of either coding; which one is seen from its first bytes, as in Triton. Rejects with INVALID_ARG
 * when it is larger than its limit inflated (as soon as that shows), or when anything of it is corrupt, missing or
 * left over, with UNAVAILABLE when there is no room for it.
 */
export function inflateBody(body: Buffer, limits: InflateLimits): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (body.length === 0) {
      reject(invalidArg('nothing to be decompressed'));
      return;
    }
    inflateLater(body, 'either', limits, (result) => {
      if (Buffer.isBuffer(result)) resolve(result);
      else reject(inflateFailure(result, limits.maxSize));
    });
  });
}

function inflateFailure(fault: InflateFault, maxSize: number): TritonError {
  if (fault.kind === 'corrupt') {
    const { reason, cause } = fault;
    return invalidArg(`failed to decompress the request body: ${reason}`, { cause });
  }
  if (fault.kind === 'no room') {
    return new TritonError('UNAVAILABLE', 'there is no room for what the request inflates to: try again later');
  }
  return invalidArg(
    `Decompressed data size exceeds the maximum allowed value of ${maxSize} bytes. Use --http-max-input-size to increase the limit.`,
  );
}

/**
 * The coding for an answer: of those that the client weights highest the first, with preference for the plain form
 * where `*` names it. What is malformed counts for nothing, and the plain form is taken where nothing else fits.
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

/** In our order of preference where the client leaves it to us. */
const CODINGS: readonly ContentCoding[] = ['identity', 'gzip', 'deflate'];

function codingCalled(name: string): ContentCoding | undefined {
  return CODINGS.find((coding) => coding === name);
}

// More digits than RFC 9110 allows and weights over 1 are taken for what they mean.
function weightOf(parameter: string): number | undefined {
  const digits = /^q[\t ]*=[\t ]*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)$/.exec(parameter)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** Larger bodies are compressed in another thread, for the sake of the other requests. */
const LARGEST_INLINE = 8 * 1024;
const CHUNK_SIZE = 256 * 1024;

/**
 * Calls back with the parts of the compressed body, at once when it is small; undefined when memory is short. Takes
 * `parts` as one body.
 */
export function compressBody(
  parts: readonly Uint8Array[],
  coding: Exclude<ContentCoding, 'identity'>,
  done: (parts: readonly Uint8Array[] | undefined) => void,
): void {
  let compressed: Buffer | undefined;
  try {
    if (parts.reduce((size, part) => size + part.byteLength, 0) > LARGEST_INLINE) {
      compressLater(parts, coding, done);
      return;
    }
    const body = Buffer.concat(parts);
    compressed = coding === 'gzip' ? gzipSync(body) : deflateSync(body);
  } catch {
    compressed = undefined;
  }
  done(compressed && [compressed]);
}

function compressLater(
  parts: readonly Uint8Array[],
  coding: Exclude<ContentCoding, 'identity'>,
  done: (parts: readonly Uint8Array[] | undefined) => void,
): void {
  const stream = coding === 'gzip' ? createGzip({ chunkSize: CHUNK_SIZE }) : createDeflate({ chunkSize: CHUNK_SIZE });
  const pieces: Buffer[] = [];
  stream.on('data', (piece: Buffer) => pieces.push(piece));
  stream.on('end', () => done(pieces));
  stream.on('error', () => done(undefined));
  for (const part of parts) stream.write(part);
  stream.end();
}
