// The common part of the readers of a tensor's JSON `data`. A reader works in parts, so that long data need not be read in one
// go.

import type { TritonError } from '../../errors.js';
import type { Datatype } from '../../tensor/dtype.js';
import { unparsable } from './json-members.js';

/** The place of the elements: an array, or a single value instead of an array of one. */
export interface DataText {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/** The elements that a reader should find. */
export interface Wanted {
  readonly datatype: Datatype;
  /** Ignored for BYTES. */
  readonly count: number;
  /** The input's name, for messages. */
  readonly name: string;
}

/** The error for too few or too many elements, as in Triton. */
export function wrongCount(): TritonError {
  return unparsable('data', "Shape does not match true shape of 'data' field");
}

export function wrongType(expected: string): TritonError {
  return unparsable('data', `attempt to access JSON ${expected}`);
}

export const NOT_BOOLEAN = 'non-boolean as boolean';
export const NOT_NUMBER = 'non-number as double';
export const NOT_SIGNED = 'non-signed-integer as signed-integer';
export const NOT_UNSIGNED = 'non-unsigned-integer as unsigned-integer';

/** A tensor of at least this many bytes has memory of its own. */
export const OWN_MEMORY_BYTES = 64 * 1024;

/** Memory of `length` bytes, aligned for any typed array. */
export function allocate(length: number): Buffer {
  if (length >= OWN_MEMORY_BYTES) return Buffer.allocUnsafeSlow(length);
  const pooled = Buffer.allocUnsafe(length);
  return pooled.byteOffset % 8 === 0 ? pooled : Buffer.allocUnsafeSlow(length);
}

export abstract class TensorDataReader {
  readonly textLength: number;
  protected readonly bytes: Buffer;
  protected readonly end: number;
  protected pos: number;
  protected readonly wanted: Wanted;

  constructor({ bytes, start, end }: DataText, wanted: Wanted) {
    this.bytes = bytes;
    this.wanted = wanted;
    this.pos = start;
    this.end = end;
    this.textLength = end - start;
  }

  /** The elements in wire form, once {@link advance} has returned true. */
  abstract get values(): Uint8Array;

  /** The memory of {@link values}, if it holds nothing else. */
  abstract get memory(): ArrayBuffer | undefined;

  /** Reads about `bytes` bytes of text. Returns true at the end. Throws INVALID_ARG. */
  advance(bytes: number): boolean {
    this.readTo(Math.min(this.end, this.pos + bytes));
    if (this.pos < this.end) return false;
    this.finish();
    return true;
  }

  /** Reads the elements that begin before `stop`. */
  protected abstract readTo(stop: number): void;

  protected finish(): void {}
}

// The offset of the next element at or after `pos`, or `end` without one. Between elements there are only brackets of nested
// arrays, commas and white space.
export function nextElement(bytes: Buffer, pos: number, end: number): number {
  while (pos < end) {
    const byte = bytes[pos]!;
    if (byte > 0x20 && byte !== 0x2c && byte !== 0x5b && byte !== 0x5d) return pos;
    pos++;
  }
  return pos;
}
