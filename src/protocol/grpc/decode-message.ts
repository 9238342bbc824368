// Messages that generated code reads: those that are no inference. What they have beyond what is known is dropped, and of
// what is known they have only so much.

import { fromBinary, type DescMessage, type MessageShape } from '@bufbuild/protobuf';

import { TritonError } from '../../errors.js';
import { REQUEST_LIMITS } from '../../model/request-limits.js';
import { knownFields } from './known-fields.js';
import { WireReader } from './wire-reader.js';

const reader = new WireReader('request', {
  fields: REQUEST_LIMITS.controlFields,
  nameBytes: REQUEST_LIMITS.nameBytes,
  textBytes: REQUEST_LIMITS.controlBytes,
});

/** Throws INTERNAL when the bytes are no such message, and INVALID_ARG when it has too many fields, nested ones included. */
export function decodeMessage<Schema extends DescMessage>(schema: Schema, bytes: Uint8Array): MessageShape<Schema> {
  // Each field may become an object, or an entry of a map.
  const fields = knownFields(schema, bytes, reader);
  try {
    return fromBinary(schema, fields, { readUnknownFields: false });
  } catch (error) {
    throw new TritonError('INTERNAL', 'Unable to parse request', { cause: error });
  }
}
