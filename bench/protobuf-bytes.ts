// Just enough protobuf to build an inference request by hand and to look into an answer, so that neither the load nor
// the check of an answer goes through the codecs that are being measured.

export interface Field {
  readonly number: number;
  readonly value: number | Buffer;
}

function varint(value: number): Buffer {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`expected a non-negative integer, got ${value}`);
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}

/** A length-delimited field: a string, bytes, a packed list or a message. */
export function lengthDelimited(number: number, value: string | Uint8Array): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

export function integer(number: number, value: number): Buffer {
  return Buffer.concat([varint(number * 8), varint(value)]);
}

export function packedIntegers(number: number, values: readonly number[]): Buffer {
  return lengthDelimited(number, Buffer.concat(values.map(varint)));
}

function readVarint(bytes: Buffer, start: number): { readonly value: number; readonly end: number } {
  let value = 0;
  let scale = 1;
  for (let at = start; at < bytes.length && at < start + 10; at++) {
    const byte = bytes[at]!;
    value += (byte & 127) * scale;
    if (byte < 128) return { value, end: at + 1 };
    scale *= 128;
  }
  throw new Error(`a varint at byte ${start} of ${bytes.length} does not end`);
}

/** The fields of a message in wire order; only varints and length-delimited ones, as inference messages have. */
export function readFields(bytes: Buffer): readonly Field[] {
  const fields: Field[] = [];
  let at = 0;
  while (at < bytes.length) {
    const tag = readVarint(bytes, at);
    const number = Math.floor(tag.value / 8);
    const wireType = tag.value % 8;
    const head = readVarint(bytes, tag.end);
    if (wireType === 0) {
      fields.push({ number, value: head.value });
      at = head.end;
    } else if (wireType === 2) {
      at = head.end + head.value;
      if (at > bytes.length) throw new Error(`field ${number} ends at byte ${at} of a message of ${bytes.length}`);
      fields.push({ number, value: bytes.subarray(head.end, at) });
    } else {
      throw new Error(`unexpected wire type ${wireType} of field ${number}`);
    }
  }
  return fields;
}
