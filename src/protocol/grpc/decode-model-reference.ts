// The requests of the methods that tell about the server and its models: all are empty, or have a name in field 1 and a
// version in field 2. Read by hand because the generated reader takes a known field of another wire type for its own.

import { REQUEST_LIMITS } from '../../model/request-limits.js';
import { WireReader } from '../protobuf/wire-reader.js';
import { LENGTH_DELIMITED } from '../protobuf/wire-types.js';

/** What a request asks about. '' stands for any. */
export interface ModelReference {
  readonly name: string;
  readonly version: string;
}

const { controlFields, controlBytes, nameBytes } = REQUEST_LIMITS;
const reader = new WireReader('request', { fields: controlFields, nameBytes, textBytes: controlBytes });

/** Throws INTERNAL when the bytes are no protobuf message, and INVALID_ARG when it has too many fields. */
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
