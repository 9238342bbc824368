// InferTensorContents: tensor elements as protobuf numbers. A scan checks the form and notes where the elements lie. They become
// raw bytes once the datatype is known. The notes stay small for every message. Work that grows with the bytes pauses.

import { invalidArg } from '../../errors.js';
import { Pace, type PacedWork, PAUSE_BYTES } from '../../pacing/paced-work.js';
import { beyondLimit, REQUEST_LIMITS } from '../../model/request-limits.js';
import { type Datatype, traitsOf } from '../../tensor/dtype.js';
import type { WireReader } from '../protobuf/wire-reader.js';
import { FIXED32, FIXED64, LENGTH_DELIMITED, VARINT } from '../protobuf/wire-types.js';

// By field number. `datatype` is the field's name in Triton's messages.
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

/** The field that holds the elements of a datatype; 16-bit floats exist in raw form only. */
function fieldOf(datatype: Datatype): FieldNumber | undefined {
  const { kind, range, byteSize } = traitsOf(datatype);
  switch (kind) {
    case 'bool':
      return 1;
    case 'integer':
      return range[0] < 0 ? 2 : 4;
    case 'wide':
      return range[0] < 0n ? 3 : 5;
    case 'float':
      return byteSize === 4 ? 6 : 7;
    case 'bytes':
      return 8;
    case 'half':
      return undefined;
  }
}

/** Describes a tensor: `input tensor 'x' for model 'm'`. */
export type Describe = () => string;

/** No real client sends this many pieces of contents. Noting their places takes more memory than the pieces do. */
const MAX_RUNS = 1024;

/** Where the elements of one InferTensorContents lie in its message. */
export class TensorContents {
  /** Bit n: field n has elements. */
  #fields = 0;
  // Pairs of start and end of the messages. Protobuf joins such messages.
  readonly #messages: number[] = [];
  // Pairs of start and end, while only one field has elements. A packed run begins with its first element. An unpacked run begins
  // with a tag, and its start is noted as -start - 1.
  #runs: number[] = [];
  #count = 0;
  /** For BYTES: the number of bytes of all elements. */
  #byteCount = 0;
  readonly #pace = new Pace();

  /** Notes a message of contents, to be scanned later. There may be several, because protobuf joins repeated ones. */
  note(start: number, end: number): void {
    if (this.#messages.push(start, end) > 2 * MAX_RUNS) throw beyondLimit(RUNS, MAX_RUNS);
  }

  /**
   * Checks the form of the noted contents. The caller must not use the reader until this ends. Throws INTERNAL for malformed
   * contents, and INVALID_ARG for contents that no request may have.
   */
  *scan(reader: WireReader): PacedWork<void> {
    for (let i = 0; i < this.#messages.length; i += 2) {
      reader.position = this.#messages[i]!;
      reader.limit = this.#messages[i + 1]!;
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
          this.#noteRun(number, 1, [start, reader.position], true);
        } else if (wireType === LENGTH_DELIMITED) {
          const length = reader.length();
          const first = reader.position;
          const count =
            field.width === 0 ? yield* this.#countVarints(reader, length) : countFixed(reader, length, field.width);
          this.#noteRun(number, count, [first, first + length], false);
        } else {
          reader.skip(tag);
          this.#noteRun(number, 1, [start, reader.position], true);
        }
        if (this.#pace.spend(BYTES_OF_A_FIELD)) yield;
      }
    }
  }

  /** Passes over packed varints and counts them. */
  *#countVarints(reader: WireReader, length: number): PacedWork<number> {
    const { bytes } = reader;
    const end = reader.position + length;
    let count = 0;
    let continued = 0;
    for (let block = reader.position; block < end; block += PAUSE_BYTES) {
      const stop = Math.min(end, block + PAUSE_BYTES);
      for (let i = block; i < stop; i++) {
        if (bytes[i]! < 0x80) {
          count++;
          continued = 0;
        } else if (++continued > 9) reader.malformed();
      }
      if (this.#pace.spend(stop - block)) yield;
    }
    if (continued !== 0) reader.malformed();
    reader.position = end;
    return count;
  }

  #noteRun(number: FieldNumber, count: number, [start, end]: readonly [number, number], unpacked: boolean): void {
    if (count === 0) return;
    const bit = 1 << number;
    if (this.#fields !== 0 && this.#fields !== bit) {
      // The request is refused in any case, so the places of its elements no longer matter.
      this.#fields |= bit;
      this.#runs = [];
      return;
    }
    this.#fields = bit;
    this.#count += count;
    const runs = this.#runs;
    const last = runs.length - 1;
    if (unpacked && last > 0 && runs[last] === start && runs[last - 1]! < 0) runs[last] = end;
    else if (runs.push(unpacked ? -start - 1 : start, end) > 2 * MAX_RUNS) throw beyondLimit(RUNS, MAX_RUNS);
  }

  /**
   * Returns the elements in raw form: a view of the message where its bytes are the same, else a new buffer. Throws INVALID_ARG
   * when they are in the wrong field or do not fit the datatype. `datatype` is undefined for an unknown one.
   */
  *toRaw(reader: WireReader, datatype: Datatype | undefined, describe: Describe): PacedWork<Uint8Array> {
    const expected = datatype === undefined ? undefined : fieldOf(datatype);
    if (this.#fields === 0) return new Uint8Array(0);
    const first = (31 - Math.clz32(this.#fields & -this.#fields)) as FieldNumber;
    if (first !== expected) {
      throw invalidArg(
        `unexpected explicit tensor data for ${describe()} of type '${FIELDS[first].datatype}', expected datatype '${datatype ?? '<invalid>'}'`,
      );
    }
    if (this.#fields !== 1 << first) {
      throw invalidArg(`unexpected explicit tensor data for ${describe()}, binary data was already supplied.`);
    }
    if (FIELDS[first].width !== 0) return yield* this.#fixedWidth(reader, FIELDS[first].width);
    if (first === 8) return yield* this.#lengthPrefixed(reader);
    return yield* this.#varints(reader, datatype!, describe);
  }

  *#fixedWidth(reader: WireReader, width: number): PacedWork<Uint8Array> {
    const runs = this.#runs;
    if (runs.length === 2 && runs[0]! >= 0) return reader.bytes.subarray(runs[0], runs[1]);
    const raw = allocateRaw(this.#count * width);
    let offset = 0;
    yield* this.#eachElement(reader, (unpacked) => {
      const count = unpacked ? width : Math.min(reader.limit - reader.position, PAUSE_BYTES);
      offset += reader.bytes.copy(raw, offset, reader.position, reader.position + count);
      reader.position += count;
      return true;
    });
    return raw;
  }

  *#lengthPrefixed(reader: WireReader): PacedWork<Uint8Array> {
    const raw = allocateRaw(this.#byteCount + 4 * this.#count);
    let offset = 0;
    // Bytes left of the element that is being copied.
    let left = 0;
    yield* this.#eachElement(reader, () => {
      if (left === 0) {
        left = reader.length();
        offset = raw.writeUInt32LE(left, offset);
      }
      const count = Math.min(left, PAUSE_BYTES);
      offset += reader.bytes.copy(raw, offset, reader.position, reader.position + count);
      reader.position += count;
      left -= count;
      return left === 0;
    });
    return raw;
  }

  *#varints(reader: WireReader, datatype: Datatype, describe: Describe): PacedWork<Uint8Array> {
    const { kind, byteSize, range } = traitsOf(datatype as VarintDatatype);
    const write = kind === 'bool' ? writeBool : WRITERS[byteSize];
    const raw = allocateRaw(this.#count * byteSize);
    // The field's numbers have 32 or 64 bits.
    const isNarrow = kind === 'integer' && byteSize < 4;
    let offset = 0;
    yield* this.#eachElement(reader, () => {
      reader.varint();
      if (isNarrow) checkRange(datatype, range as readonly [number, number], reader.low, describe);
      write(raw, offset, reader.low, reader.high);
      offset += byteSize;
      return true;
    });
    return raw;
  }

  // Puts the reader before each element: after the tag in unpacked runs, before the rest of a packed run. `element` returns true
  // when it has read the whole element.
  *#eachElement(reader: WireReader, element: (unpacked: boolean) => boolean): PacedWork<void> {
    const runs = this.#runs;
    for (let i = 0; i < runs.length; i += 2) {
      const unpacked = runs[i]! < 0;
      let begins = true;
      reader.position = unpacked ? -runs[i]! - 1 : runs[i]!;
      reader.limit = runs[i + 1]!;
      while (reader.position < reader.limit || !begins) {
        const start = reader.position;
        if (unpacked && begins) reader.tag();
        begins = element(unpacked);
        if (this.#pace.spend(reader.position - start)) yield;
      }
    }
  }
}

const RUNS = 'pieces of typed contents in a tensor';

/** The cost of a field beside its bytes, in bytes of paced work. */
const BYTES_OF_A_FIELD = 16;

function allocateRaw(byteLength: number): Buffer {
  const { contentsBytes } = REQUEST_LIMITS;
  if (byteLength > contentsBytes) throw beyondLimit('bytes in a tensor of typed contents', contentsBytes);
  return Buffer.allocUnsafeSlow(byteLength);
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

/** Writers by the size of an element in bytes. */
const WRITERS = { 1: write8, 2: write16, 4: write32, 8: write64 } as const;

type VarintDatatype = Exclude<Datatype, 'FP16' | 'BF16' | 'FP32' | 'FP64' | 'BYTES'>;

function checkRange(
  datatype: Datatype,
  [least, most]: readonly [number, number],
  low: number,
  describe: Describe,
): void {
  const value = least === 0 ? low >>> 0 : low;
  if (value >= least && value <= most) return;
  throw invalidArg(
    `unexpected value ${value} in explicit tensor data for ${describe()}, expected datatype '${datatype}' with values from ${least} to ${most}`,
  );
}

/** Passes over packed elements of fixed width and counts them. */
function countFixed(reader: WireReader, length: number, width: number): number {
  if (length % width !== 0) reader.malformed();
  reader.position += length;
  return length / width;
}
