// Inflates bodies in the background, within a limit and the available room. It joins the result into one buffer, with pauses.
// Only a few bodies are inflated at a time: the others wait in their small, compressed form.

import { createGunzip, createInflate, createUnzip, type Unzip } from 'node:zlib';

import { assemble } from '../pacing/paced-bytes.js';
import { startPaced } from '../pacing/paced-workers.js';
import { freeMemory } from './free-memory.js';

/** Forms of compressed data: gzip, zlib's (HTTP calls it deflate), or either. The first bytes then decide. */
export type CompressedForm = 'gzip' | 'deflate' | 'either';

/** Why nothing was inflated. */
export type InflateFault =
  | { readonly kind: 'too large' }
  | { readonly kind: 'no room' }
  | { readonly kind: 'corrupt'; readonly reason: string; readonly cause?: unknown };

export interface InflateLimits {
  /** The limit of the result, in bytes. */
  readonly maxSize: number;
  /**
   * Sets the bytes that the request holds, compressed and inflated. Returns false when there is no room, or when nobody wants the
   * result any more.
   */
  readonly hold: (bytes: number) => boolean;
}

const STREAMS = {
  gzip: createGunzip,
  deflate: createInflate,
  either: createUnzip,
} as const satisfies Record<CompressedForm, (options: { readonly chunkSize: number }) => unknown>;

/** Each chunk travels to another thread and back. That costs as much as inflating some tens of kilobytes. */
const LARGEST_CHUNK = 256 * 1024;
/** A usual body fits into one chunk, and a body that inflates to a thousand times its size needs few. */
const CHUNK_TIMES_COMPRESSED = 64;
/** Half of Node's threads for such work. */
const MOST_AT_ONCE = 2;

type Done = (result: Buffer | InflateFault) => void;

const waiting: (() => void)[] = [];
let underWay = 0;

/** Calls back later with the inflated bytes, or with a fault. The compressed data must be complete, and nothing may follow it. */
export function inflateLater(compressed: Buffer, form: CompressedForm, limits: InflateLimits, done: Done): void {
  const ended: Done = (result) => {
    underWay--;
    waiting.shift()?.();
    done(result);
  };
  const begin = () => {
    underWay++;
    inflate(compressed, form, limits, ended);
  };
  if (underWay < MOST_AT_ONCE) begin();
  else waiting.push(begin);
}

function inflate(compressed: Buffer, form: CompressedForm, { maxSize, hold }: InflateLimits, done: Done): void {
  // During the wait, the client may have given up.
  if (!hold(compressed.length)) {
    setImmediate(done, { kind: 'no room' });
    return;
  }
  const chunkSize = Math.max(1024, Math.min(LARGEST_CHUNK, compressed.length * CHUNK_TIMES_COMPRESSED, maxSize));
  const stream = STREAMS[form]({ chunkSize }) as Unzip;
  const pieces: Buffer[] = [];
  let size = 0;
  const fail = (fault: InflateFault) => {
    pieces.splice(0).forEach(freeMemory);
    stream.off('error', onError).on('error', () => undefined);
    stream.destroy();
    done(fault);
  };
  const onError = (cause: Error) => fail({ kind: 'corrupt', reason: cause.message, cause });
  stream.on('error', onError);
  stream.on('data', (piece: Buffer) => {
    size += piece.length;
    if (size > maxSize) fail({ kind: 'too large' });
    else if (!hold(compressed.length + size)) fail({ kind: 'no room' });
    else pieces.push(piece);
  });
  stream.on('end', () => {
    const left = compressed.length - stream.bytesWritten;
    if (left > 0) {
      fail({ kind: 'corrupt', reason: `${left} bytes follow the compressed data` });
      return;
    }
    startPaced(assemble(pieces, size, freeMemory), {
      done(whole) {
        // This is less than before, so there is room.
        hold(size);
        done(whole);
      },
      failed: (cause) => done({ kind: 'corrupt', reason: 'there is no memory for what it inflates to', cause }),
    });
  });
  stream.end(compressed);
}
