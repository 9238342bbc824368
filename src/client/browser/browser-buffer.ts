// The part of `node:buffer` that the client's codecs use. The client's build for browsers has this file in place of Node's module.
// Memory is zeroed and never shared, so the methods that Node calls unsafe are safe here.

type Encoding = 'utf8' | 'latin1' | 'base64';

const ENCODER = new TextEncoder();
const DECODER = new TextDecoder('utf-8', { ignoreBOM: true });
const STRICT_DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** How many character codes one `fromCharCode` call gets: the number of arguments of a call is limited. */
const CODES = 8192;

class BrowserBuffer extends Uint8Array {
  static alloc(length: number): BrowserBuffer {
    return new BrowserBuffer(length);
  }

  static allocUnsafe(length: number): BrowserBuffer {
    return new BrowserBuffer(length);
  }

  static allocUnsafeSlow(length: number): BrowserBuffer {
    return new BrowserBuffer(length);
  }

  /** The UTF-8 of a text, a copy of bytes, or a view of memory. */
  static override from(source: unknown, byteOffset?: unknown, length?: number): BrowserBuffer {
    if (typeof source === 'string') return BrowserBuffer.from(ENCODER.encode(source).buffer);
    if (source instanceof ArrayBuffer) return new BrowserBuffer(source, byteOffset as number | undefined, length);
    if (ArrayBuffer.isView(source) || Array.isArray(source)) return new BrowserBuffer(source as Uint8Array);
    // Memory of other kinds or of another realm.
    return new BrowserBuffer(source as ArrayBuffer, byteOffset as number | undefined, length);
  }

  static concat(
    parts: readonly Uint8Array[],
    length: number = parts.reduce((sum, { byteLength }) => sum + byteLength, 0),
  ): BrowserBuffer {
    const whole = new BrowserBuffer(length);
    let offset = 0;
    for (const part of parts) {
      whole.set(part, offset);
      offset += part.byteLength;
    }
    return whole;
  }

  static byteLength(text: string): number {
    return ENCODER.encode(text).byteLength;
  }

  override toString(encoding: Encoding = 'utf8', start = 0, end: number = this.byteLength): string {
    const bytes = this.subarray(start, end);
    if (encoding === 'utf8') return DECODER.decode(bytes);
    let text = '';
    for (let offset = 0; offset < bytes.byteLength; offset += CODES)
      text += String.fromCharCode(...bytes.subarray(offset, offset + CODES));
    return encoding === 'base64' ? btoa(text) : text;
  }

  /** Returns how many bytes it wrote. */
  write(text: string, offset: number, encoding: Encoding): number {
    if (encoding === 'utf8') return ENCODER.encodeInto(text, this.subarray(offset)).written;
    for (let i = 0; i < text.length; i++) this[offset + i] = text.charCodeAt(i);
    return text.length;
  }

  /** Returns how many bytes it copied. */
  copy(target: Uint8Array, targetStart = 0, start = 0, end: number = this.byteLength): number {
    const bytes = this.subarray(start, end);
    target.set(bytes, targetStart);
    return bytes.byteLength;
  }

  equals(other: Uint8Array): boolean {
    return this.byteLength === other.byteLength && this.every((byte, index) => byte === other[index]);
  }

  readUInt32LE(offset: number): number {
    return viewOf(this).getUint32(offset, true);
  }

  writeUInt32LE(value: number, offset: number): number {
    viewOf(this).setUint32(offset, value, true);
    return offset + 4;
  }

  writeUInt32BE(value: number, offset: number): number {
    viewOf(this).setUint32(offset, value);
    return offset + 4;
  }

  writeBigUInt64LE(value: bigint, offset: number): number {
    viewOf(this).setBigUint64(offset, value, true);
    return offset + 8;
  }
}

export { BrowserBuffer as Buffer };

export function isUtf8(bytes: Uint8Array): boolean {
  try {
    STRICT_DECODER.decode(bytes);
    return true;
  } catch {
    return false;
  }
}

export function isAscii(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte < 0x80);
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}
