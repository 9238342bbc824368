// Integers of any size on their way to a float with fewer bits than a double. To round to the nearest double first and then once
// more would round twice: up to a tie, and from the tie to even. Rounding to odd keeps what was lost visible.

const scratch = new Float64Array(1);
const bits = new BigUint64Array(scratch.buffer);

/** The integer itself, or of the two doubles around it the one whose last bit is set; an infinity beyond them. */
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
