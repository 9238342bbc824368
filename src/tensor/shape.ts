// Computes with shapes, which are row-major lists of dimensions. `-1` stands for "any size" in specs only.

/** Number of elements of a shape; 1 for the rank-0 shape. */
export function elementCount(shape: readonly number[]): number {
  let count = 1;
  for (const dim of shape) count *= dim;
  return count;
}

/** `[2,3]`, as Triton writes shapes in its messages. */
export function formatShape(shape: readonly number[]): string {
  return `[${shape.join(',')}]`;
}

/** True when both have the same rank and dimensions. */
export function sameShape(a: readonly number[], b: readonly number[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** True when `shape` has the rank and the fixed dimensions of `spec` (`-1` matches any size). */
export function matchesShape(spec: readonly number[], shape: readonly number[]): boolean {
  if (spec.length !== shape.length) return false;
  for (let i = 0; i < spec.length; i++) if (spec[i] !== -1 && spec[i] !== shape[i]) return false;
  return true;
}
