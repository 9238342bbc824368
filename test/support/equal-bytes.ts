// Loaded before every test file: compares typed arrays as bytes. Element by element, as `toEqual` does it, a tensor of some
// hundred thousand elements takes seconds.
import { expect } from 'vitest';

const KEY = Symbol.for('tstriton.equal-bytes');
const shared = globalThis as { [KEY]?: true };

/** True for the same bytes in arrays of one type; undefined leaves it to `toEqual`, to which all NaN are the same. */
function sameBytes(a: unknown, b: unknown): true | undefined {
  if (!ArrayBuffer.isView(a) || !ArrayBuffer.isView(b)) return undefined;
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b) || a.byteLength !== b.byteLength) return undefined;
  return bytesOf(a).equals(bytesOf(b)) || undefined;
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

// Files that share a process share the testers too.
if (shared[KEY] === undefined) expect.addEqualityTesters([sameBytes]);
shared[KEY] = true;
