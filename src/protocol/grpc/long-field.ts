// Finds where the first long field of a message begins, if the message's beginning shows it. Memory for the message is then laid
// out so that the tensor there can be viewed as numbers.

import { WireReader } from '../protobuf/wire-reader.js';
import { FIXED32, FIXED64, LENGTH_DELIMITED, VARINT } from '../protobuf/wire-types.js';

/** Smaller tensors are copied, wherever they lie. */
const LONG_BYTES = 65_536;

/** Returns 0 when the beginning does not show it. */
export function longFieldAt(beginning: Buffer): number {
  const reader = new WireReader('message');
  reader.start(beginning);
  try {
    while (reader.position < reader.limit) {
      const tag = reader.tag();
      switch (tag & 7) {
        case LENGTH_DELIMITED: {
          reader.varint();
          const length = reader.high === 0 ? reader.low >>> 0 : Infinity;
          if (length >= LONG_BYTES) return reader.position;
          reader.position += length;
          break;
        }
        case VARINT:
        case FIXED64:
        case FIXED32:
          reader.skip(tag);
          break;
        default:
          return 0;
      }
    }
  } catch {
    // The bytes are incomplete or not a message. The decoder reports that.
  }
  return 0;
}
