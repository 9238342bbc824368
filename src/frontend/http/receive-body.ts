// Collects a request's body into one buffer: as it is when it comes in one piece, into its own memory when its length is
// known, as a list of pieces otherwise, which are joined in the end, with pauses when they are many.

import { invalidArg, TritonError } from '../../errors.js';
import { alignedMemory } from '../../model/exchange.js';
import { assemble } from '../../model/paced-bytes.js';
import { startPaced } from '../../model/paced-workers.js';
import { RETRY_AFTER_SECONDS } from '../../http1/exchange.js';
import type { HttpHeaders } from '../../http1/http-exchange.js';
import { freeMemory } from '../../protocol/free-memory.js';
import { largeMemory } from '../../sockets/large-memory.js';
import type { HttpExchange } from './http-exchange.js';

/** Larger bodies are refused whatever they are. */
export const MAX_BODY_BYTES = 2 ** 31;

/**
 * Of a chunked body, as many pieces as this are taken whatever their size. More must not be tiny: each costs memory of
 * its own. Chunks may come in several pieces, but only tiny chunks make many tiny pieces.
 */
const MAX_PIECES = 65_536;
const TINY = 1024;

export interface ExpectedBody {
  /** Larger ones are refused. */
  readonly limit: number;
  /** Where its binary tensors begin. Default: it has none. */
  readonly tensorsAt?: number;
}

/**
 * Calls back once, or never when the client hangs up before the end. A body that is larger than its limit, or for which there is
 * no memory, is refused; what comes of it is not kept.
 */
export function receiveBody(
  exchange: HttpExchange,
  { limit: most, tensorsAt = 0 }: ExpectedBody,
  received: (body: Buffer) => void,
): void {
  const { request, answer } = exchange;
  const limit = Math.min(most, request.largestBody);
  const length = request.bodyLength;
  const refuse = (error: TritonError) => {
    // Reading the rest only to drop it could take forever.
    answer.closeConnection();
    exchange.answerError(error);
  };
  if (length !== undefined && length > limit) {
    refuse(tooLarge(String(length), limit));
    return;
  }
  let whole: Buffer | undefined;
  const pieces: Buffer[] = [];
  let size = 0;
  const drop = (error: TritonError) => {
    request.dropBody();
    pieces.length = 0;
    refuse(error);
  };
  const memory = (bytes: number) => {
    const before = whole;
    try {
      whole = alignedMemory(bytes, tensorsAt, allocate);
    } catch (error) {
      whole = undefined;
      drop(noMemory(bytes, error));
    }
    if (before === undefined) return whole;
    if (whole !== undefined) before.copy(whole);
    freeMemory(before);
    return whole;
  };
  const data = (piece: Buffer) => {
    size += piece.length;
    if (piece.length === length) whole = piece;
    else if (size > limit) drop(tooLarge(`more than ${limit}`, limit));
    else if (pieces.length >= MAX_PIECES && size < pieces.length * TINY) drop(tooManyChunks());
    else pieces.push(piece);
  };
  const end = () => {
    if (whole !== undefined) {
      received(whole);
      return;
    }
    const run = startPaced(assemble(pieces, size), {
      done: received,
      failed: (cause) => refuse(noMemory(size, cause)),
    });
    if (run !== undefined) answer.onAbort(() => run.cancel());
  };
  request.readBody({ memory, data, end });
}

/** When to try again. Only refusals that come before an execution say so. */
export const TRY_AGAIN: HttpHeaders = ['Retry-After', RETRY_AFTER_SECONDS];

const allocate = (bytes: number): Buffer => largeMemory.ofRequest(bytes);

function noMemory(size: number, cause: unknown): TritonError {
  return new TritonError('UNAVAILABLE', `there is no memory for a request of ${size} bytes`, { cause });
}

function tooManyChunks(): TritonError {
  return invalidArg(
    `Chunked request body exceeds maximum of ${MAX_PIECES} non-empty chunks. Send fewer or larger HTTP chunks.`,
  );
}

function tooLarge(size: string, limit: number): TritonError {
  return invalidArg(`request size of ${size} bytes exceeds the maximum allowed input size of ${limit} bytes`);
}
