// Shared memory objects as clients make them; on Linux they are files of /dev/shm. Each is removed when its test ends.
import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { onTestFinished } from 'vitest';

export class SharedMemoryObject {
  readonly key = `/tstriton_test_${process.pid}_${randomBytes(6).toString('hex')}`;

  /** `bytes` are where the object begins; the rest is zero. */
  constructor(size: number, bytes: Uint8Array = new Uint8Array(0)) {
    const content = Buffer.alloc(size);
    content.set(bytes);
    writeFileSync(this.#path, content);
    onTestFinished(() => rmSync(this.#path, { force: true }));
  }

  /** What others wrote. */
  read(): Buffer {
    return readFileSync(this.#path);
  }

  /** What the client writes while others use the object. */
  write(bytes: Uint8Array, offset = 0): void {
    const content = this.read();
    content.set(bytes, offset);
    writeFileSync(this.#path, content, { flag: 'r+' });
  }

  resize(size: number): void {
    truncateSync(this.#path, size);
  }

  unlink(): void {
    rmSync(this.#path);
  }

  get #path(): string {
    return `/dev/shm${this.key}`;
  }
}

/** The bytes of 32-bit floats. */
export function floats(...values: readonly number[]): Uint8Array {
  return new Uint8Array(Float32Array.from(values).buffer);
}
