// Decodes elements of bytes whose texts are base64 (RFC 4648, section 4), as inputs with `contentEncoding: 'base64'` come in JSON.

import { invalidArg, type TritonError } from '../../errors.js';
import { aloneInMemory } from '../../model/exchange.js';
import type { Pace, PacedWork } from '../../pacing/paced-work.js';
import { allocate } from '../http/tensor-data-reader.js';

/** Characters decoded at a time: whole groups of four. */
const BLOCK = 64 * 1024;
const GROUPS = /^[A-Za-z0-9+/]*$/;
const LAST_GROUPS = /^[A-Za-z0-9+/]*={0,2}$/;

/** Takes and returns elements with 32-bit length prefixes. Throws INVALID_ARG; `what` names the input. */
export function* decodeBase64Elements(texts: Uint8Array, what: string, pace: Pace): PacedWork<Uint8Array> {
  const source = Buffer.from(texts.buffer, texts.byteOffset, texts.byteLength);
  const target = allocate(source.length);
  let written = 0;
  for (let offset = 0; offset < source.length;) {
    const start = offset + 4;
    offset = start + source.readUInt32LE(offset);
    if ((offset - start) % 4 !== 0) throw noBase64(what);
    const lengthAt = written;
    written += 4;
    for (let from = start; from < offset; from += BLOCK) {
      const block = source.toString('latin1', from, Math.min(from + BLOCK, offset));
      if (!(from + BLOCK < offset ? GROUPS : LAST_GROUPS).test(block)) throw noBase64(what);
      written += target.write(block, written, 'base64');
      if (pace.spend(BLOCK)) yield;
    }
    target.writeUInt32LE(written - lengthAt - 4, lengthAt);
  }
  return aloneInMemory(target.subarray(0, written));
}

function noBase64(what: string): TritonError {
  return invalidArg(`${what} must hold strings of base64 with padding (contentEncoding: 'base64'), got other text`);
}
