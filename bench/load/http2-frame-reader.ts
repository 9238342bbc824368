// Cuts a byte stream into HTTP/2 frames. Whole frames are handed out in place; only one that a read cuts in two is
// copied. Knows nothing of what frames mean.

export const FRAME_HEADER_LENGTH = 9;
export const LONGEST_PAYLOAD = 1 << 14; // the default SETTINGS_MAX_FRAME_SIZE, which the generator does not raise

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
}

export interface FrameSink {
  /** The payload is `bytes[start…end)`, valid only during the call. */
  frame(frame: Frame, bytes: Buffer, range: { readonly start: number; readonly end: number }): void;
}

export class Http2FrameReader {
  readonly #sink: FrameSink;
  readonly #partial = Buffer.allocUnsafeSlow(FRAME_HEADER_LENGTH + LONGEST_PAYLOAD);
  #partialLength = 0;
  // Reused for every frame: the reader is called for each answer of a load run.
  readonly #frame = { type: 0, flags: 0, streamId: 0 };
  readonly #range = { start: 0, end: 0 };

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  read(bytes: Buffer, start: number, end: number): void {
    let at = start;
    if (this.#partialLength > 0) at = this.#completePartial(bytes, start, end);
    while (end - at >= FRAME_HEADER_LENGTH) {
      const next = at + frameLength(bytes, at);
      if (next > end) break;
      this.#deliver(bytes, at, next);
      at = next;
    }
    if (at < end) {
      bytes.copy(this.#partial, this.#partialLength, at, end);
      this.#partialLength += end - at;
    }
  }

  // Returns where the bytes after the completed frame begin; `end` when the frame is still not whole.
  #completePartial(bytes: Buffer, start: number, end: number): number {
    let at = start;
    if (this.#partialLength < FRAME_HEADER_LENGTH) {
      at = this.#fill(FRAME_HEADER_LENGTH, bytes, at, end);
      if (this.#partialLength < FRAME_HEADER_LENGTH) return end;
    }
    const length = frameLength(this.#partial, 0);
    at = this.#fill(length, bytes, at, end);
    if (this.#partialLength < length) return end;
    this.#partialLength = 0;
    this.#deliver(this.#partial, 0, length);
    return at;
  }

  #fill(wanted: number, bytes: Buffer, start: number, end: number): number {
    const taken = Math.min(wanted - this.#partialLength, end - start);
    bytes.copy(this.#partial, this.#partialLength, start, start + taken);
    this.#partialLength += taken;
    return start + taken;
  }

  #deliver(bytes: Buffer, start: number, end: number): void {
    this.#frame.type = bytes[start + 3]!;
    this.#frame.flags = bytes[start + 4]!;
    this.#frame.streamId = bytes.readUInt32BE(start + 5) & 0x7fffffff;
    this.#range.start = start + FRAME_HEADER_LENGTH;
    this.#range.end = end;
    this.#sink.frame(this.#frame, bytes, this.#range);
  }
}

// Of the whole frame, its header included.
function frameLength(bytes: Buffer, at: number): number {
  const payload = bytes.readUIntBE(at, 3);
  if (payload > LONGEST_PAYLOAD) {
    throw new Error(`a frame of ${payload} bytes, expected at most ${LONGEST_PAYLOAD}`);
  }
  return FRAME_HEADER_LENGTH + payload;
}
