// The tensors of inference messages when they are read: the same fields in requests and in responses. What few tensors
// have is apart from what all have, so that the others cost nothing more.

import { readParameter, type ParameterMap } from './infer-parameters.js';
import { TensorContents } from './tensor-contents.js';
import { LENGTH_DELIMITED, VARINT, type WireReader } from './wire-reader.js';

/** Filled as it is read. */
export interface TensorMessage {
  name: string;
  datatype: string;
  readonly shape: number[];
}

/** What only some tensors have. */
export interface TensorExtras {
  contents: TensorContents | undefined;
  parameters: ParameterMap | undefined;
  /** The shape when a dimension of it is beyond what a number can hold exactly. */
  hugeShape: readonly (number | bigint)[] | undefined;
}

export const NO_EXTRAS: Readonly<TensorExtras> = noExtras();

function noExtras(): TensorExtras {
  return { contents: undefined, parameters: undefined, hugeShape: undefined };
}

/** Reads the tensor at which `reader` stands into `tensor`; what comes twice counts as the last time. */
export function readTensorMessage(reader: WireReader, tensor: TensorMessage): TensorExtras | undefined {
  const outer = reader.enter();
  const { shape } = tensor;
  let hugeShape: (number | bigint)[] | undefined;
  let extras: TensorExtras | undefined;
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
        reader.countParts(reader.limit - reader.position);
        while (reader.position < reader.limit) hugeShape = readDim(reader, shape, hugeShape);
        reader.leave(packed);
        break;
      }
      case (3 << 3) | VARINT:
        reader.countParts(1);
        hugeShape = readDim(reader, shape, hugeShape);
        break;
      case (4 << 3) | LENGTH_DELIMITED:
        reader.countParts(1);
        extras ??= noExtras();
        readParameter(reader, (extras.parameters ??= new Map()));
        break;
      case (5 << 3) | LENGTH_DELIMITED: {
        extras ??= noExtras();
        const inner = reader.enter();
        (extras.contents ??= new TensorContents()).read(reader);
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

// Beyond 2^53 dimensions are kept exactly as well, for the texts that refuse them.
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
