// Converts integers of any size on their way to a float with fewer bits than a double. Rounding first to the nearest
// double and then again would round twice: up to a tie, and from the tie to even. Rounding to odd keeps a trace of the
// lost bits.

const scratch = new Float64Array(1);
const bits = new BigUint64Array(scratch.buffer);

/**
 * The integer itself, or its neighbouring double with the last bit set; an infinity beyond the doubles.
 */
export function toOddDouble(value: bigint): number {
  const near = Number(value);
  if (Number.isSafeInteger(near) || !Number.isFinite(near)) return near;
  const rounded = BigInt(near);
  if (rounded === value) return near;
  scratch[0] = near;
  if ((bits[0]! & 1n) === 1n) return near;
  const isFarther = value < 0n ? rounded < value : rounded > value;
  bits[0]! += isFarther ? -1n : 1n;
  return scratch[0];
}
