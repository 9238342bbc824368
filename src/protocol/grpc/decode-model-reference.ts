// Decodes requests of the methods that describe the server and its models. Each is empty, or has a name in field 1 and a version
// in field 2. They are read by hand: the generated reader accepts a known field with a wrong wire type.

import { REQUEST_LIMITS } from '../../model/request-limits.js';
import { WireReader } from '../protobuf/wire-reader.js';
import { LENGTH_DELIMITED } from '../protobuf/wire-types.js';

/** The model and version that a request names. '' stands for any. */
export interface ModelReference {
  readonly name: string;
  readonly version: string;
}

const { controlFields, controlBytes, nameBytes } = REQUEST_LIMITS;
const reader = new WireReader('request', { fields: controlFields, nameBytes, textBytes: controlBytes });

/** Throws INTERNAL when the bytes are not a protobuf message, and INVALID_ARG when it has too many fields. */
export function decodeModelReference(bytes: Uint8Array): ModelReference {
  reader.start(bytes);
  try {
    let name = '';
    let version = '';
    while (reader.position < reader.limit) {
      const tag = reader.tag();
      if (tag === ((1 << 3) | LENGTH_DELIMITED)) name = reader.name();
      else if (tag === ((2 << 3) | LENGTH_DELIMITED)) version = reader.name();
      else reader.skip(tag);
    }
    return { name, version };
  } finally {
    reader.release();
  }
}
