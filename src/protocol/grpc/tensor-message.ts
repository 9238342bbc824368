// The tensors of inference messages, whose fields are the same in requests and responses. Members that few tensors have are kept
// apart, so that other tensors cost nothing more. Reading only notes typed contents, because they may be long. The data of
// written tensors goes into the raw contents of the message around them.

import type { InferTensor } from '../../model/exchange.js';
import { beyondLimit } from '../../model/request-limits.js';
import type { WireReader } from '../protobuf/wire-reader.js';
import { LENGTH_DELIMITED, VARINT } from '../protobuf/wire-types.js';
import { type ParameterMap, readParameter } from './infer-parameters.js';
import { TensorContents } from './tensor-contents.js';
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

/** The reader fills it. */
export interface TensorMessage {
  name: string;
  datatype: string;
  readonly shape: number[];
}

/** Members that only some tensors have. */
export interface TensorExtras {
  contents: TensorContents | undefined;
  parameters: ParameterMap | undefined;
  /** Set when a dimension is too large for an exact number. */
  hugeShape: readonly (number | bigint)[] | undefined;
}

export const NO_EXTRAS: Readonly<TensorExtras> = noExtras();

function noExtras(): TensorExtras {
  return { contents: undefined, parameters: undefined, hugeShape: undefined };
}

/** Limits on the content of a tensor. */
export interface TensorLimits {
  readonly rank: number;
  readonly tensorParameters: number;
}

/**
 * Reads the tensor at the reader's position into `tensor`. The last of repeated fields counts. Throws INVALID_ARG for a tensor
 * beyond the limits.
 */
export function readTensorMessage(
  reader: WireReader,
  tensor: TensorMessage,
  { rank, tensorParameters }: TensorLimits,
): TensorExtras | undefined {
  const outer = reader.enter();
  const { shape } = tensor;
  let hugeShape: (number | bigint)[] | undefined;
  let extras: TensorExtras | undefined;
  let parameters = 0;
  while (reader.position < reader.limit) {
    const tag = reader.tag();
    switch (tag) {
      case (1 << 3) | LENGTH_DELIMITED:
        tensor.name = reader.name();
        break;
      case (2 << 3) | LENGTH_DELIMITED:
        tensor.datatype = reader.name();
        break;
      case (3 << 3) | LENGTH_DELIMITED: {
        const packed = reader.enter();
        while (reader.position < reader.limit) {
          hugeShape = readDim(reader, shape, hugeShape);
          if (shape.length > rank) throw beyondLimit(DIMENSIONS, rank);
        }
        reader.leave(packed);
        break;
      }
      case (3 << 3) | VARINT:
        hugeShape = readDim(reader, shape, hugeShape);
        if (shape.length > rank) throw beyondLimit(DIMENSIONS, rank);
        break;
      case (4 << 3) | LENGTH_DELIMITED:
        if (++parameters > tensorParameters) throw beyondLimit('parameters of a tensor', tensorParameters);
        extras ??= noExtras();
        readParameter(reader, (extras.parameters ??= new Map()));
        break;
      case (5 << 3) | LENGTH_DELIMITED: {
        extras ??= noExtras();
        const inner = reader.enter();
        (extras.contents ??= new TensorContents()).note(reader.position, reader.limit);
        reader.position = reader.limit;
        reader.leave(inner);
        break;
      }
      default:
        reader.skip(tag);
    }
  }
  reader.leave(outer);
  if (hugeShape !== undefined) (extras ??= noExtras()).hugeShape = hugeShape;
  return extras;
}

const DIMENSIONS = 'dimensions of a tensor';

// Dimensions beyond 2^53 are kept exactly too, for the texts that refuse them.
function readDim(
  reader: WireReader,
  shape: number[],
  exact: (number | bigint)[] | undefined,
): (number | bigint)[] | undefined {
  const dim = reader.int64AsNumber();
  shape.push(dim);
  if (Number.isSafeInteger(dim)) {
    exact?.push(dim);
    return exact;
  }
  const huge = reader.lastInt64();
  if (exact === undefined) return [...shape.slice(0, -1), huge];
  exact.push(huge);
  return exact;
}
