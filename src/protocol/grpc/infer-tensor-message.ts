// The tensors of inference messages when they are written: name, datatype and shape of one input or output.
// Their data goes into the raw contents of the message around them.

import type { InferTensor } from '../../model/exchange.js';
import { LENGTH_DELIMITED } from './wire-reader.js';
import { LENGTH_BOUND, rawBound, stringBound, VARINT_BOUND, type WireWriter } from './wire-writer.js';

/** Most bytes that a tensor takes in a message, its data included. */
export function tensorBound({ name, datatype, shape, bytes }: InferTensor): number {
  return 2 * LENGTH_BOUND + stringBound(name) + stringBound(datatype) + VARINT_BOUND * shape.length + rawBound(bytes);
}

/** Writes a tensor without its data. `tag` takes one byte. */
export function writeTensor(writer: WireWriter, tag: number, { name, datatype, shape }: InferTensor): void {
  const start = writer.openMessage(tag);
  if (name !== '') writer.string((1 << 3) | LENGTH_DELIMITED, name);
  writer.string((2 << 3) | LENGTH_DELIMITED, datatype);
  if (shape.length > 0) {
    const dims = writer.openMessage((3 << 3) | LENGTH_DELIMITED);
    for (let i = 0; i < shape.length; i++) writer.int64(shape[i]!);
    writer.closeMessage(dims);
  }
  writer.closeMessage(start);
}
