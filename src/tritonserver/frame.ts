// The wire between `model.py` in tritonserver and this process. It carries frames, one after the other. All numbers are
// little-endian, and each part of a frame begins at a multiple of 8 bytes:
//
//   prefix   8 words of 32 bits: kind, words of the head, bytes of the extras, bytes of the tensors (low and high word),
//            number of the batch, entries, 0
//   head     words of 32 bits, see below; a zero at the end where their number would be odd
//   extras   JSON, and spaces up to a multiple of 8; none where there is nothing to say
//   tensors  raw bytes as in the protocol, BYTES with lengths; zeros up to a multiple of 8 after each
//
// A tensor in a head is its rank plus 1 (0: not there), its dimensions, and its length in bytes (low and high word).
//
//   HELLO      model.py, first   extras: protocol, key, instance
//   WELCOME    its answer        none
//   REFUSED    or this           extras: error
//   BATCH      model.py          head: per request one tensor per declared input; extras: lists with one entry per request
//   CANCEL     model.py          head: requests of its batch whose clients are gone
//   RESULTS    ends a batch      head: per request a status, and of OUTPUTS their number, and per output its index and tensor
//   GOODBYE    model.py, last    none
//   RESPONSES  before RESULTS    head: per entry a status and its request; outputs as in RESULTS
//
// In RESULTS and RESPONSES the extras have `errors` and `parameters`, each by the number of the entry.

import { TritonError } from '../errors.js';

/** Changes with the frames. */
export const PROTOCOL = 1;

export const HELLO = 1;
export const WELCOME = 2;
export const REFUSED = 3;
export const BATCH = 4;
export const CANCEL = 5;
export const RESULTS = 6;
export const RESPONSES = 7;
export const GOODBYE = 8;

/** Statuses of entries. FINAL and ENDED are for RESPONSES; AGAIN is for RESULTS: the request is to be executed again. */
export const FAILED = 0;
export const OUTPUTS = 1;
export const AGAIN = 2;
export const FINAL = 3;
export const ENDED = 4;

export const PREFIX_BYTES = 32;

export interface Frame {
  readonly kind: number;
  /** Number of the batch. */
  readonly id: number;
  /** Number of requests or entries. */
  readonly count: number;
  readonly head: Uint32Array;
  /** Undefined where there are none. */
  readonly extras: unknown;
  /** The bytes of all tensors; they begin at a multiple of 8 of their memory. Without `memory` they are valid only for now. */
  readonly tensors: Uint8Array;
  /** Memory that holds this frame alone; undefined where others have a part of it. */
  readonly memory: ArrayBuffer | undefined;
}

/** Reads words of a head, and refuses to read beyond its end. */
export class HeadReader {
  readonly #words: Uint32Array;
  #at = 0;

  constructor(words: Uint32Array) {
    this.#words = words;
  }

  next(): number {
    const word = this.#words[this.#at++];
    if (word === undefined) throw malformed('its head is too short');
    return word;
  }

  /** A length in bytes, of two words. */
  length(): number {
    const low = this.next();
    return low + this.next() * 2 ** 32;
  }

  dimensions(rank: number): number[] {
    if (rank > this.#words.length - this.#at) throw malformed('its head is too short');
    const shape: number[] = [];
    for (let axis = 0; axis < rank; axis++) shape.push(this.next());
    return shape;
  }
}

/** The outgoing part of a frame. Its tensors are not copied. */
export interface OutgoingFrame {
  readonly kind: number;
  readonly id: number;
  readonly count: number;
  readonly head: readonly number[];
  readonly extras?: object | undefined;
  readonly tensors?: readonly Uint8Array[];
}

/** Frames up to this size are written at once. */
const SMALL_BYTES = 64 * 1024;

/** The bytes of a frame, in pieces. */
export function encodeFrame({ kind, id, count, head, extras, tensors = [] }: OutgoingFrame): readonly Uint8Array[] {
  const text = extras === undefined ? undefined : Buffer.from(JSON.stringify(extras));
  const textBytes = alignTo8(text?.length ?? 0);
  const headWords = head.length + (head.length & 1);
  let tensorBytes = 0;
  for (let i = 0; i < tensors.length; i++) tensorBytes += alignTo8(tensors[i]!.byteLength);
  const begin = PREFIX_BYTES + headWords * 4 + textBytes;
  const isSmall = begin + tensorBytes <= SMALL_BYTES;
  // Small memory is a part of a pool, at a multiple of 8.
  const buffer = Buffer.allocUnsafe(isSmall ? begin + tensorBytes : begin);
  const words = new Uint32Array(buffer.buffer, buffer.byteOffset, (begin - textBytes) >> 2);
  words[0] = kind;
  words[1] = headWords;
  words[2] = textBytes;
  words[3] = tensorBytes % 2 ** 32;
  words[4] = Math.floor(tensorBytes / 2 ** 32);
  words[5] = id;
  words[6] = count;
  words[7] = 0;
  for (let i = 0; i < head.length; i++) words[8 + i] = head[i]!;
  if (headWords > head.length) words[8 + head.length] = 0;
  if (text !== undefined) buffer.fill(0x20, begin - textBytes, begin).set(text, begin - textBytes);
  if (isSmall) {
    let at = begin;
    for (let i = 0; i < tensors.length; i++) {
      const tensor = tensors[i]!;
      buffer.set(tensor, at);
      const end = at + tensor.byteLength;
      at = alignTo8(end);
      if (at > end) buffer.fill(0, end, at);
    }
    return [buffer];
  }
  const pieces: Uint8Array[] = [buffer];
  for (const tensor of tensors) {
    if (tensor.byteLength > 0) pieces.push(tensor);
    const padding = alignTo8(tensor.byteLength) - tensor.byteLength;
    if (padding > 0) pieces.push(ZEROS.subarray(0, padding));
  }
  return pieces;
}

/** Collects the bytes of a socket into frames. */
export class FrameReader {
  /** The bytes of a frame that has begun. */
  #part: Buffer | undefined;
  #filled = 0;
  readonly #most: number;

  /** `most`: the largest size of a frame in bytes. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Memory for the next bytes of a frame that has begun; undefined where any will do. */
  get target(): Buffer | undefined {
    const part = this.#part;
    return part === undefined || part.length <= SMALL_BYTES ? undefined : part.subarray(this.#filled);
  }

  /** Calls `take` with each frame that is whole now. Throws INVALID_ARG for bytes that are none. */
  push(chunk: Buffer, take: (frame: Frame) => void): void {
    let rest = chunk;
    while (rest.length > 0) {
      const part = this.#part;
      if (part === undefined) {
        if (rest.length >= PREFIX_BYTES) {
          const size = this.#sizeOf(rest);
          if (rest.length >= size) {
            take(decodeFrame(aligned(rest.subarray(0, size)), undefined));
            rest = rest.subarray(size);
            continue;
          }
          this.#begin(size);
        } else {
          this.#begin(PREFIX_BYTES);
        }
        continue;
      }
      const taken = Math.min(part.length - this.#filled, rest.length);
      // Bytes that were read into the target are where they belong.
      if (rest.buffer !== part.buffer) part.set(rest.subarray(0, taken), this.#filled);
      this.#filled += taken;
      rest = rest.subarray(taken);
      if (this.#filled < part.length) continue;
      const size = this.#sizeOf(part);
      if (size > part.length) {
        // Only the prefix was there.
        this.#begin(size);
        this.#part!.set(part);
        this.#filled = part.length;
        continue;
      }
      this.#part = undefined;
      take(decodeFrame(part, part.buffer as ArrayBuffer));
    }
  }

  #begin(size: number): void {
    this.#part = Buffer.allocUnsafeSlow(size);
    this.#filled = 0;
  }

  #sizeOf(prefix: Buffer): number {
    const head = prefix.readUInt32LE(4);
    const extras = prefix.readUInt32LE(8);
    const size = PREFIX_BYTES + head * 4 + extras + prefix.readUInt32LE(12) + prefix.readUInt32LE(16) * 2 ** 32;
    if (size % 8 !== 0 || extras % 8 !== 0 || head % 2 !== 0) throw malformed('its parts are not aligned');
    if (size > this.#most) throw malformed(`it has ${size} bytes, expected at most ${this.#most}`);
    return size;
  }
}

function decodeFrame(bytes: Buffer, memory: ArrayBuffer | undefined): Frame {
  const { buffer, byteOffset } = bytes;
  const prefix = new Uint32Array(buffer, byteOffset, PREFIX_BYTES >> 2);
  const headEnd = PREFIX_BYTES + prefix[1]! * 4;
  const extrasEnd = headEnd + prefix[2]!;
  return {
    kind: prefix[0]!,
    id: prefix[5]!,
    count: prefix[6]!,
    head: new Uint32Array(buffer, byteOffset + PREFIX_BYTES, prefix[1]!),
    extras: prefix[2] === 0 ? undefined : parseExtras(bytes.toString('utf8', headEnd, extrasEnd)),
    tensors: new Uint8Array(buffer, byteOffset + extrasEnd, bytes.length - extrasEnd),
    memory,
  };
}

function parseExtras(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw malformed('its extras are not JSON', error);
  }
}

/** The same bytes where typed arrays of any kind can view them. */
function aligned(bytes: Buffer): Buffer {
  if (bytes.byteOffset % 8 === 0) return bytes;
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}

export function alignTo8(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
}

export function malformed(what: string, cause?: unknown): TritonError {
  return new TritonError('INVALID_ARG', `malformed frame of model.py: ${what}`, { cause });
}

const ZEROS = new Uint8Array(8);
