// InferTensorContents: tensor elements as protobuf numbers. Reading a message only checks the form and notes where the
// elements lie; they become raw bytes once the datatype is known. What is noted stays small whatever was sent.

import { TritonError } from '../../errors.js';
import type { Datatype } from '../../tensor/dtype.js';
import { FIXED32, FIXED64, LENGTH_DELIMITED, VARINT, type WireReader } from './wire-reader.js';

// By field number. `datatype` is what Triton's messages call the field.
const FIELDS = [
  undefined,
  { datatype: 'BOOL', wireType: VARINT, width: 0 },
  { datatype: 'INT32', wireType: VARINT, width: 0 },
  { datatype: 'INT64', wireType: VARINT, width: 0 },
  { datatype: 'UINT32', wireType: VARINT, width: 0 },
  { datatype: 'UINT64', wireType: VARINT, width: 0 },
  { datatype: 'FP32', wireType: FIXED32, width: 4 },
  { datatype: 'FP64', wireType: FIXED64, width: 8 },
  { datatype: 'BYTES', wireType: LENGTH_DELIMITED, width: 0 },
] as const;

type FieldNumber = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;

/** The field that holds the elements of each datatype; FP16 and BF16 exist in raw form only. */
const FIELD_OF_DATATYPE: Readonly<Record<Datatype, FieldNumber | undefined>> = {
  BOOL: 1,
  INT8: 2,
  INT16: 2,
  INT32: 2,
  INT64: 3,
  UINT8: 4,
  UINT16: 4,
  UINT32: 4,
  UINT64: 5,
  FP32: 6,
  FP64: 7,
  BYTES: 8,
  FP16: undefined,
  BF16: undefined,
};

/** Datatypes that are narrower than the numbers of their field. */
const RANGES = {
  INT8: [-128, 127],
  INT16: [-32_768, 32_767],
  UINT8: [0, 255],
  UINT16: [0, 65_535],
} as const satisfies Partial<Record<Datatype, readonly [number, number]>>;

/** A tensor in words: `input tensor 'x' for model 'm'`. */
export type Describe = () => string;

/** Where the elements of one InferTensorContents lie in its message. */
export class TensorContents {
  /** Bit n: field n has elements. */
  #fields = 0;
  // While only one field has elements: pairs of start and end. A packed run begins with its first element; an unpacked
  // one with a tag, and its start is noted as -start - 1.
  #runs: number[] = [];
  #count = 0;
  /** BYTES: how many bytes the elements have together. */
  #byteCount = 0;

  /** Reads the rest of the message that `reader` is in; may be called again, since protobuf joins repeated ones. */
  read(reader: WireReader): void {
    while (reader.position < reader.limit) {
      const start = reader.position;
      const tag = reader.tag();
      const number = (tag >>> 3) as FieldNumber;
      const field = number <= 8 ? FIELDS[number] : undefined;
      const wireType = tag & 7;
      if (field === undefined || (wireType !== field.wireType && wireType !== LENGTH_DELIMITED)) {
        reader.skip(tag);
      } else if (field.wireType === LENGTH_DELIMITED) {
        const length = reader.length();
        reader.advance(length);
        this.#byteCount += length;
        this.#note(number, 1, start, reader.position, true);
      } else if (wireType === LENGTH_DELIMITED) {
        const length = reader.length();
        const first = reader.position;
        this.#note(number, countPacked(reader, length, field.width), first, first + length, false);
      } else {
        reader.skip(tag);
        this.#note(number, 1, start, reader.position, true);
      }
    }
  }

  #note(number: FieldNumber, count: number, start: number, end: number, unpacked: boolean): void {
    if (count === 0) return;
    const bit = 1 << number;
    if (this.#fields !== 0 && this.#fields !== bit) {
      // Refused in any case: where the elements lie does not matter any more.
      this.#fields |= bit;
      this.#runs = [];
      return;
    }
    this.#fields = bit;
    this.#count += count;
    const runs = this.#runs;
    const last = runs.length - 1;
    if (unpacked && last > 0 && runs[last] === start && runs[last - 1]! < 0) runs[last] = end;
    else runs.push(unpacked ? -start - 1 : start, end);
  }

  /**
   * The elements in raw form; a view of the message where that is the same bytes, else a buffer of its own.
   * Throws INVALID_ARG when they are in the wrong field or do not fit the datatype, which may be none.
   */
  toRaw(reader: WireReader, datatype: Datatype | undefined, describe: Describe): Uint8Array {
    const expected = datatype === undefined ? undefined : FIELD_OF_DATATYPE[datatype];
    if (this.#fields === 0) return new Uint8Array(0);
    const first = (31 - Math.clz32(this.#fields & -this.#fields)) as FieldNumber;
    if (first !== expected) {
      throw new TritonError(
        'INVALID_ARG',
        `unexpected explicit tensor data for ${describe()} of type '${FIELDS[first].datatype}', expected datatype '${datatype ?? '<invalid>'}'`,
      );
    }
    if (this.#fields !== 1 << first) {
      throw new TritonError(
        'INVALID_ARG',
        `unexpected explicit tensor data for ${describe()}, binary data was already supplied.`,
      );
    }
    if (FIELDS[first].width !== 0) return this.#fixedWidth(reader, FIELDS[first].width);
    return first === 8 ? this.#lengthPrefixed(reader) : this.#varints(reader, datatype!, describe);
  }

  #fixedWidth(reader: WireReader, width: number): Uint8Array {
    const runs = this.#runs;
    if (runs.length === 2 && runs[0]! >= 0) return reader.bytes.subarray(runs[0], runs[1]);
    const raw = Buffer.allocUnsafeSlow(this.#count * width);
    let offset = 0;
    this.#eachRun(reader, (unpacked) => {
      const count = unpacked ? width : reader.limit - reader.position;
      offset += reader.bytes.copy(raw, offset, reader.position, reader.position + count);
      reader.position += count;
    });
    return raw;
  }

  #lengthPrefixed(reader: WireReader): Uint8Array {
    const raw = Buffer.allocUnsafeSlow(this.#byteCount + 4 * this.#count);
    let offset = 0;
    this.#eachRun(reader, () => {
      const length = reader.length();
      offset = raw.writeUInt32LE(length, offset);
      offset += reader.bytes.copy(raw, offset, reader.position, reader.position + length);
      reader.position += length;
    });
    return raw;
  }

  #varints(reader: WireReader, datatype: Datatype, describe: Describe): Uint8Array {
    const { byteSize, write } = VARINT_WRITERS[datatype as keyof typeof VARINT_WRITERS];
    const raw = Buffer.allocUnsafeSlow(this.#count * byteSize);
    const range = datatype in RANGES ? RANGES[datatype as keyof typeof RANGES] : undefined;
    let offset = 0;
    this.#eachRun(reader, () => {
      reader.varint();
      if (range !== undefined) checkRange(datatype, range, reader.low, describe);
      write(raw, offset, reader.low, reader.high);
      offset += byteSize;
    });
    return raw;
  }

  // Puts the reader before each element, for unpacked runs after its tag.
  #eachRun(reader: WireReader, element: (unpacked: boolean) => void): void {
    const runs = this.#runs;
    for (let i = 0; i < runs.length; i += 2) {
      const unpacked = runs[i]! < 0;
      reader.position = unpacked ? -runs[i]! - 1 : runs[i]!;
      reader.limit = runs[i + 1]!;
      while (reader.position < reader.limit) {
        if (unpacked) reader.tag();
        element(unpacked);
      }
    }
  }
}

type VarintWriter = (raw: Buffer, offset: number, low: number, high: number) => void;

const write8: VarintWriter = (raw, offset, low) => {
  raw[offset] = low;
};
const write16: VarintWriter = (raw, offset, low) => {
  raw[offset] = low;
  raw[offset + 1] = low >> 8;
};
const write32: VarintWriter = (raw, offset, low) => {
  raw.writeInt32LE(low, offset);
};
const write64: VarintWriter = (raw, offset, low, high) => {
  raw.writeInt32LE(low, offset);
  raw.writeInt32LE(high, offset + 4);
};
const writeBool: VarintWriter = (raw, offset, low, high) => {
  raw[offset] = (low | high) === 0 ? 0 : 1;
};

const VARINT_WRITERS = {
  BOOL: { byteSize: 1, write: writeBool },
  INT8: { byteSize: 1, write: write8 },
  UINT8: { byteSize: 1, write: write8 },
  INT16: { byteSize: 2, write: write16 },
  UINT16: { byteSize: 2, write: write16 },
  INT32: { byteSize: 4, write: write32 },
  UINT32: { byteSize: 4, write: write32 },
  INT64: { byteSize: 8, write: write64 },
  UINT64: { byteSize: 8, write: write64 },
} as const satisfies Partial<Record<Datatype, { byteSize: number; write: VarintWriter }>>;

function checkRange(
  datatype: Datatype,
  [least, most]: readonly [number, number],
  low: number,
  describe: Describe,
): void {
  const value = least === 0 ? low >>> 0 : low;
  if (value >= least && value <= most) return;
  throw new TritonError(
    'INVALID_ARG',
    `unexpected value ${value} in explicit tensor data for ${describe()}, expected datatype '${datatype}' with values from ${least} to ${most}`,
  );
}

/** Passes over packed elements and counts them. */
function countPacked(reader: WireReader, length: number, width: number): number {
  const end = reader.position + length;
  if (width !== 0) {
    if (length % width !== 0) reader.malformed();
    reader.position = end;
    return length / width;
  }
  const { bytes } = reader;
  let count = 0;
  let continued = 0;
  for (let i = reader.position; i < end; i++) {
    if (bytes[i]! < 0x80) {
      count++;
      continued = 0;
    } else if (++continued > 9) reader.malformed();
  }
  if (continued !== 0) reader.malformed();
  reader.position = end;
  return count;
}
