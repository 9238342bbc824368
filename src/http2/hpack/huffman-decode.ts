// Decodes Huffman-coded strings four bits at a time. A state is a place inside the code's tree. The shortest code has five
// bits, so four bits complete one symbol at most. A table of 256 states and 16 steps has the result of each.

import { CODE_LENGTHS, CODES, EOS } from './huffman-code.js';

const STATES = 256;
/** A step's entry: the symbol it completes in the low eight bits, whether it does, whether a string may end here, the next state. */
const COMPLETES = 0x100;
const MAY_END = 0x200;
const STATE_SHIFT = 16;
const INVALID = -1;
/** A string is filled up to the next byte with the first bits of EOS, which are ones (RFC 7541, section 5.2). */
const LONGEST_PADDING = 7;

const STEPS = makeSteps();

/**
 * Writes the decoded bytes to `target` from its beginning and returns how many there are, at most `(end - start) * 8 / 5`.
 * Returns -1 for an invalid string: it holds EOS, or ends with padding that is longer than seven bits or not of ones.
 */
export function huffmanDecode(
  bytes: Uint8Array,
  range: { readonly start: number; readonly end: number },
  target: Uint8Array,
): number {
  let step = MAY_END;
  let length = 0;
  for (let at = range.start; at < range.end; at++) {
    const byte = bytes[at]!;
    step = STEPS[((step >>> STATE_SHIFT) << 4) | (byte >>> 4)]!;
    if (step === INVALID) return -1;
    if ((step & COMPLETES) !== 0) target[length++] = step;
    step = STEPS[((step >>> STATE_SHIFT) << 4) | (byte & 0xf)]!;
    if (step === INVALID) return -1;
    if ((step & COMPLETES) !== 0) target[length++] = step;
  }
  return (step & MAY_END) === 0 ? -1 : length;
}

function makeSteps(): Int32Array {
  // A node has two children, each a further node (positive), a leaf (the symbol's complement) or not there yet (0).
  const children: [number, number][] = [[0, 0]];
  CODES.forEach((code, symbol) => {
    let node = 0;
    for (let bit = CODE_LENGTHS[symbol]! - 1; bit > 0; bit--) {
      const branch = (code >>> bit) & 1;
      node = children[node]![branch] ||= children.push([0, 0]) - 1;
    }
    children[node]![code & 1] = ~symbol;
  });

  const mayEnd = new Set<number>();
  for (let node = 0, depth = 0; depth <= LONGEST_PADDING; depth++) {
    mayEnd.add(node);
    node = children[node]![1];
  }

  const steps = new Int32Array(STATES * 16);
  for (let state = 0; state < STATES; state++) {
    for (let bits = 0; bits < 16; bits++) steps[state * 16 + bits] = walk(children, state, bits, mayEnd);
  }
  return steps;
}

function walk(children: readonly [number, number][], state: number, bits: number, mayEnd: ReadonlySet<number>): number {
  let node = state;
  let completed = 0;
  for (let bit = 3; bit >= 0; bit--) {
    const child = children[node]![((bits >>> bit) & 1) as 0 | 1];
    if (child >= 0) {
      node = child;
      continue;
    }
    if (~child === EOS) return INVALID;
    completed = COMPLETES | ~child;
    node = 0;
  }
  return (node << STATE_SHIFT) | completed | (mayEnd.has(node) ? MAY_END : 0);
}
