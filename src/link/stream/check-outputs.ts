// Checks the results and responses of an instance in another process, before anything reads them: each number of a layout,
// and each tensor's bytes against its shape. A wrong one ends the link of its process.

import { invalidArg } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import { REQUEST_LIMITS } from '../../model/request-limits.js';
import { DTYPES } from '../../tensor/dtype.js';
import { RESPONSES_ENDED, RESPONSES_FAILED } from '../messages.js';

/** As `result-codec.ts` writes them. */
const FAILED = -1;
const AGAIN = -2;

export interface CheckedLayout {
  readonly numbers: ArrayLike<number>;
  readonly buffer: ArrayBuffer;
  /** Where the tensors begin in the buffer. */
  readonly start: number;
  readonly config: CompleteModelConfig;
}

/** Reads numbers, and refuses each that cannot be. */
export class NumbersChecker {
  at = 0;
  readonly #numbers: ArrayLike<number>;

  constructor(numbers: ArrayLike<number>) {
    this.#numbers = numbers;
  }

  get isAtEnd(): boolean {
    return this.at >= this.#numbers.length;
  }

  next(least: number, most: number): number {
    const value = this.#numbers[this.at++];
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most) return value;
    throw invalidArg(`a layout has ${String(value)}, expected an integer from ${least} to ${most}`);
  }
}

/** Reads the numbers of a layout of outputs. */
class LayoutChecker extends NumbersChecker {
  readonly #layout: CheckedLayout;

  constructor(layout: CheckedLayout) {
    super(layout.numbers);
    this.#layout = layout;
  }

  outputs(count: number): void {
    const { buffer, start, config } = this.#layout;
    const seen = new Set<number>();
    for (let i = 0; i < count; i++) {
      const index = this.next(0, config.outputs.length - 1);
      if (seen.has(index)) throw invalidArg(`an answer has output '${config.outputs[index]!.name}' twice`);
      seen.add(index);
      let elements = 1;
      for (let rank = this.next(0, REQUEST_LIMITS.rank + 1); rank > 0; rank--) {
        elements *= this.next(0, Number.MAX_SAFE_INTEGER);
      }
      const offset = start + this.next(0, buffer.byteLength);
      const byteLength = this.next(0, buffer.byteLength - Math.min(offset, buffer.byteLength));
      const { dtype, name } = config.outputs[index]!;
      const { byteSize } = DTYPES[dtype];
      if (byteSize > 0) {
        if (elements * byteSize === byteLength) continue;
        throw invalidArg(`output '${name}' has ${byteLength} bytes, expected ${elements * byteSize} by its shape`);
      }
      expectElements(new DataView(buffer, offset, byteLength), elements, name);
    }
  }
}

/** Elements of BYTES tensors have 32-bit lengths before them. */
function expectElements(bytes: DataView, count: number, name: string): void {
  let at = 0;
  let found = 0;
  for (; at + 4 <= bytes.byteLength; found++) at += 4 + bytes.getUint32(at, true);
  if (at === bytes.byteLength && found === count) return;
  throw invalidArg(`output '${name}' does not hold the ${count} elements of its shape`);
}

/** Checks the frame of a batch's results. Returns how many of its requests failed. */
export function checkResultFrame(frame: ArrayBuffer, count: number, config: CompleteModelConfig): number {
  const numbers = headerOf(frame, 'a frame of results');
  const reader = new LayoutChecker({ numbers, buffer: frame, start: numbers.length * 8, config });
  reader.at = 1;
  const isIterative = config.sequenceBatching?.iterative === true;
  let failures = 0;
  for (let index = 0; index < count; index++) {
    const outputs = reader.next(isIterative ? AGAIN : FAILED, config.outputs.length);
    if (outputs === FAILED) failures++;
    else if (outputs !== AGAIN) reader.outputs(outputs);
  }
  if (!reader.isAtEnd) throw invalidArg(`a frame of results has more than ${count} results`);
  return failures;
}

/** The header of a frame, whose first number is its length. */
export function headerOf(frame: ArrayBuffer, what: string): Float64Array {
  if (frame.byteLength < 8) throw invalidArg(`${what} has ${frame.byteLength} bytes`);
  const [length] = new Float64Array(frame, 0, 1);
  const most = Math.floor(frame.byteLength / 8);
  if (!Number.isInteger(length) || length! < 1 || length! > most) throw invalidArg(`${what} has no header`);
  return new Float64Array(frame, 0, length);
}

export interface CheckedResponses {
  readonly answers: number;
  readonly failures: number;
}

/**
 * Checks a message of a stream's answers. `isOpen` has an entry for each request of the batch, which is set to false at the
 * request's end. `took` is called with the request of each answer.
 */
export function checkResponses(
  layout: CheckedLayout,
  isOpen: boolean[],
  took: (index: number) => void,
): CheckedResponses {
  const reader = new LayoutChecker(layout);
  let answers = 0;
  let failures = 0;
  while (!reader.isAtEnd) {
    const place = reader.next(-isOpen.length, isOpen.length - 1);
    const index = place < 0 ? ~place : place;
    if (isOpen[index] !== true) throw invalidArg(`an answer comes after the end of its request`);
    const outputs = reader.next(RESPONSES_FAILED, layout.config.outputs.length);
    if (outputs < 0) {
      isOpen[index] = false;
      if (outputs !== RESPONSES_ENDED) failures++;
      continue;
    }
    if (place < 0) isOpen[index] = false;
    reader.outputs(outputs);
    answers++;
    took(index);
  }
  return { answers, failures };
}
