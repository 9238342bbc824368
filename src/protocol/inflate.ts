// Inflates in the background, to no more than a limit, and hands the result over as one buffer, joined with pauses.

import { createGunzip, createInflate, createUnzip, type Unzip } from 'node:zlib';

import { assemble } from '../model/paced-bytes.js';
import { startPaced } from '../model/paced-workers.js';

/** Forms of compressed data: gzip, zlib's (HTTP calls it deflate), or either, by its first bytes. */
export type CompressedForm = 'gzip' | 'deflate' | 'either';

/** Why nothing was inflated. */
export type InflateFault =
  { readonly kind: 'too large' } | { readonly kind: 'corrupt'; readonly reason: string; readonly cause?: unknown };

const STREAMS = {
  gzip: createGunzip,
  deflate: createInflate,
  either: createUnzip,
} as const satisfies Record<CompressedForm, (options: { readonly chunkSize: number }) => unknown>;

const LARGEST_CHUNK = 256 * 1024;

/** Calls back, later, with what was compressed, all of it and nothing behind it, or with what is wrong. */
export function inflateLater(
  compressed: Buffer,
  form: CompressedForm,
  maxSize: number,
  done: (result: Buffer | InflateFault) => void,
): void {
  const chunkSize = Math.max(1024, Math.min(LARGEST_CHUNK, compressed.length * 4, maxSize));
  const stream = STREAMS[form]({ chunkSize }) as Unzip;
  const pieces: Buffer[] = [];
  let size = 0;
  const fail = (fault: InflateFault) => {
    pieces.length = 0;
    stream.off('error', onError).on('error', () => undefined);
    stream.destroy();
    done(fault);
  };
  const onError = (cause: Error) => fail({ kind: 'corrupt', reason: cause.message, cause });
  stream.on('error', onError);
  stream.on('data', (piece: Buffer) => {
    size += piece.length;
    if (size > maxSize) fail({ kind: 'too large' });
    else pieces.push(piece);
  });
  stream.on('end', () => {
    const left = compressed.length - stream.bytesWritten;
    if (left > 0) {
      fail({ kind: 'corrupt', reason: `${left} bytes follow the compressed data` });
      return;
    }
    startPaced(assemble(pieces, size), {
      done,
      failed: (cause) => done({ kind: 'corrupt', reason: 'there is no memory for what it inflates to', cause }),
    });
  });
  stream.end(compressed);
}
