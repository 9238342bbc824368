// Collects a request's body into one buffer: without a copy when it comes in one piece, with one copy when its length
// is known, with a list of pieces otherwise, which are joined in the end, with pauses when they are many.

import { TritonError } from '../../errors.js';
import { assemble } from '../../model/assemble.js';
import { startPaced } from '../../model/paced-work.js';
import type { HttpExchange } from './http-exchange.js';

/** Larger bodies are refused whatever they are. */
export const MAX_BODY_BYTES = 2 ** 31;

/**
 * Of a chunked body, as many pieces as this are taken whatever their size. More must not be tiny: each costs memory of
 * its own. Chunks may come in several pieces, but only tiny chunks make many tiny pieces.
 */
const MAX_PIECES = 65_536;
const TINY = 1024;

export interface BodyReceiver {
  received(body: Buffer): void;
  /** The body is larger than `limit` or there is no memory for it. What comes of it is not kept. */
  refused(error: TritonError): void;
}

/** Calls the receiver once, or never when the client hangs up before the end. */
export function receiveBody(exchange: HttpExchange, limit: number, receiver: BodyReceiver): void {
  const { request, answer } = exchange;
  const length = request.bodyLength;
  if (length !== undefined && length > limit) {
    receiver.refused(tooLarge(String(length), limit));
    return;
  }
  let whole: Buffer | undefined;
  const pieces: Buffer[] = [];
  let size = 0;
  const refuse = (error: TritonError) => {
    request.dropBody();
    pieces.length = 0;
    receiver.refused(error);
  };
  const data = (piece: Buffer) => {
    const offset = size;
    size += piece.length;
    if (length === undefined) {
      if (size > limit) refuse(tooLarge(`more than ${limit}`, limit));
      else if (pieces.length >= MAX_PIECES && size < pieces.length * TINY) refuse(tooManyChunks());
      else pieces.push(piece);
    } else if (piece.length === length) {
      whole = piece;
    } else {
      try {
        whole ??= Buffer.allocUnsafeSlow(length);
      } catch (error) {
        refuse(noMemory(length, error));
        return;
      }
      piece.copy(whole, offset);
    }
  };
  const end = () => {
    if (whole !== undefined) {
      receiver.received(whole);
      return;
    }
    const run = startPaced(assemble(pieces, size), {
      done: (body) => receiver.received(body),
      failed: (cause) => receiver.refused(noMemory(size, cause)),
    });
    if (run !== undefined) answer.onAbort(() => run.cancel());
  };
  request.readBody({ data, end });
}

function noMemory(size: number, cause: unknown): TritonError {
  return new TritonError('UNAVAILABLE', `there is no memory for a request of ${size} bytes`, { cause });
}

function tooManyChunks(): TritonError {
  return new TritonError(
    'INVALID_ARG',
    `Chunked request body exceeds maximum of ${MAX_PIECES} non-empty chunks. Send fewer or larger HTTP chunks.`,
  );
}

function tooLarge(size: string, limit: number): TritonError {
  return new TritonError(
    'INVALID_ARG',
    `request size of ${size} bytes exceeds the maximum allowed input size of ${limit} bytes`,
  );
}
