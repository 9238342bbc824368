// Makes readable texts of a tensor's first elements. It leaves out the rest, so that a text about a large tensor takes
// little time.

import { type Datatype, DATATYPE_BYTE_SIZE, dtypeOf } from './dtype.js';
import { decodeBfloat16, decodeFloat16 } from './float16.js';
import { decodeRaw } from './raw.js';

/** Numbers in decimal, strings in quotes; `…` at the end when there are more than `most`. Expects whole elements. */
export function elementTexts(
  { datatype, bytes }: { readonly datatype: Datatype; readonly bytes: Uint8Array },
  most: number,
): string[] {
  const size = DATATYPE_BYTE_SIZE[datatype];
  const end = size === 0 ? endOfStrings(bytes, most) : Math.min(bytes.byteLength, most * size);
  const first = bytes.subarray(0, end);
  const texts =
    size === 0 ? decodeRaw('string', first).map((text) => `"${text}"`) : Array.from(numbers(datatype, first), String);
  if (end < bytes.byteLength) texts.push('…');
  return texts;
}

function numbers(datatype: Datatype, bytes: Uint8Array): Iterable<number | bigint> {
  const dtype = dtypeOf(datatype);
  if (dtype === 'float16') return decodeFloat16(decodeRaw(dtype, bytes));
  if (dtype === 'bfloat16') return decodeBfloat16(decodeRaw(dtype, bytes));
  return decodeRaw(dtype, bytes) as Float32Array | BigInt64Array;
}

/** Where the first `most` strings end. */
function endOfStrings(bytes: Uint8Array, most: number): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let offset = 0;
  for (let count = 0; count < most && offset < bytes.byteLength; count++) offset += 4 + view.getUint32(offset, true);
  return offset;
}
