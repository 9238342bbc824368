// Converts between float32 and the two 16-bit floats, bit patterns in Uint16Array: IEEE 754 binary16 (float16) and its
// truncated cousin bfloat16. Decoding binary16 goes through a table of all 65 536 values.

const scratch = new DataView(new ArrayBuffer(4));
let binary16Table: Float32Array | undefined;

function decodeBinary16(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

function table(): Float32Array {
  if (binary16Table === undefined) {
    binary16Table = new Float32Array(65536);
    for (let bits = 0; bits < 65536; bits++) binary16Table[bits] = decodeBinary16(bits);
  }
  return binary16Table;
}

// The float32 bits of a double, cut off toward zero, with the last bit set when bits were lost. Rounding first to the
// nearest float32 and then again would round twice: up to a tie, and from the tie to even.
function toOddFloat32Bits(value: number): number {
  scratch.setFloat32(0, value);
  const bits = scratch.getUint32(0);
  const rounded = scratch.getFloat32(0);
  if (rounded === value || !Number.isFinite(value) || !Number.isFinite(rounded)) return bits;
  return ((Math.abs(rounded) > Math.abs(value) ? bits - 1 : bits) | 1) >>> 0;
}

/** Rounds a number to the nearest binary16 (ties to even); overflow gives an infinity. */
export function toBinary16(value: number): number {
  const bits32 = toOddFloat32Bits(value);
  const sign = (bits32 >>> 16) & 0x8000;
  const exponent = (bits32 >>> 23) & 0xff;
  const fraction = bits32 & 0x7fffff;
  if (exponent === 0xff) return sign | 0x7c00 | (fraction === 0 ? 0 : 0x200 | (fraction >>> 13));
  const shifted = exponent - 127 + 15;
  if (shifted >= 31) return sign | 0x7c00;
  if (shifted <= 0) {
    if (shifted < -10) return sign;
    return sign | roundShift(fraction | 0x800000, 14 - shifted);
  }
  return sign + roundShift((shifted << 23) | fraction, 13);
}

function roundShift(value: number, shift: number): number {
  const kept = value >>> shift;
  const rest = value & ((1 << shift) - 1);
  const half = 1 << (shift - 1);
  return rest > half || (rest === half && (kept & 1) === 1) ? kept + 1 : kept;
}

/** float16 bits to float32 values. */
export function decodeFloat16(bits: Uint16Array): Float32Array {
  const values = new Float32Array(bits.length);
  const lookup = table();
  for (let i = 0; i < bits.length; i++) values[i] = lookup[bits[i]!]!;
  return values;
}

/** Numbers to the nearest float16 bits; numbers out of range become infinities. */
export function encodeFloat16(values: ArrayLike<number>): Uint16Array {
  const bits = new Uint16Array(values.length);
  for (let i = 0; i < bits.length; i++) bits[i] = toBinary16(values[i]!);
  return bits;
}

/** bfloat16 bits to float32 values: the upper half of a float32. */
export function decodeBfloat16(bits: Uint16Array): Float32Array {
  const words = new Uint32Array(bits.length);
  for (let i = 0; i < bits.length; i++) words[i] = bits[i]! << 16;
  return new Float32Array(words.buffer);
}

/** Rounds a number to the nearest bfloat16 (ties to even); overflow gives an infinity. */
export function toBfloat16(value: number): number {
  const bits32 = toOddFloat32Bits(value);
  if (Number.isNaN(value)) return (bits32 >>> 16) | 0x40;
  return (bits32 + 0x7fff + ((bits32 >>> 16) & 1)) >>> 16;
}

/** Numbers to the nearest bfloat16 bits; numbers out of range become infinities. */
export function encodeBfloat16(values: ArrayLike<number>): Uint16Array {
  const bits = new Uint16Array(values.length);
  for (let i = 0; i < bits.length; i++) bits[i] = toBfloat16(values[i]!);
  return bits;
}

/** The 16-bit floats, whose elements are raw bits. */
export const HALVES = {
  float16: { encode: encodeFloat16, decode: decodeFloat16 },
  bfloat16: { encode: encodeBfloat16, decode: decodeBfloat16 },
} as const;

export function isHalf(dtype: string): dtype is keyof typeof HALVES {
  return Object.hasOwn(HALVES, dtype);
}

/** The bits of a `Float16Array`, in the same memory; undefined for anything else. Node has such arrays from 24 on. */
export function float16ArrayBits(values: unknown): Uint16Array | undefined {
  if (!ArrayBuffer.isView(values) || Object.prototype.toString.call(values) !== '[object Float16Array]')
    return undefined;
  return new Uint16Array(values.buffer, values.byteOffset, values.byteLength / 2);
}
