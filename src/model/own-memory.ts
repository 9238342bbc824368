/** Of less a copy costs less than to keep account of whose it is. */
const LEAST_BYTES = 1024 * 1024;

/** The memory under many bytes that fill it, so that whoever has the bytes has all of it; undefined under a part of it. */
export function ownMemory({ buffer, byteLength }: Uint8Array): ArrayBuffer | undefined {
  if (byteLength < LEAST_BYTES || buffer.byteLength !== byteLength) return undefined;
  return buffer instanceof ArrayBuffer ? buffer : undefined;
}
