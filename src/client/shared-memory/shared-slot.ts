// One object of shared memory with its region at the server. One request uses it at a time. The object loses its name as soon as
// the server has it open, so that nothing stays in /dev/shm, however this process ends.

import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { open, unlink, type FileHandle } from 'node:fs/promises';

import { TritonError } from '../../errors.js';
import type { SharedMemoryRegion } from '../server/server-data.js';

const FOLDER = '/dev/shm/';
const FLAGS = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL;
/** For this user alone, as of shm_open in Triton's clients. */
const MODE = 0o600;
const ZEROS = new Uint8Array(1024 * 1024);

export class SharedSlot {
  /** The region's name. */
  readonly name: string;
  readonly byteSize: number;
  readonly #handle: FileHandle;

  private constructor(name: string, byteSize: number, handle: FileHandle) {
    this.name = name;
    this.byteSize = byteSize;
    this.#handle = handle;
  }

  /** Makes the object and has it registered. Throws UNAVAILABLE when /dev/shm is full, and the errors of `register`. */
  static async open(byteSize: number, register: (region: SharedMemoryRegion) => Promise<void>): Promise<SharedSlot> {
    const name = `tstriton_${process.pid}_${randomBytes(9).toString('hex')}`;
    const path = FOLDER + name;
    let handle: FileHandle | undefined;
    try {
      handle = await open(path, FLAGS, MODE);
      await fill(handle, byteSize);
    } catch (cause) {
      await handle?.close();
      if (handle !== undefined) await unlink(path);
      const { message } = TritonError.from(cause);
      throw new TritonError('UNAVAILABLE', `there is no room for ${byteSize} bytes in /dev/shm: ${message}`, { cause });
    }
    try {
      await register({ name, key: `/${name}`, byteSize });
    } catch (error) {
      await handle.close();
      throw error;
    } finally {
      await unlink(path);
    }
    return new SharedSlot(name, byteSize, handle);
  }

  /** Writes the bytes at the offset. */
  async write(bytes: Uint8Array, offset: number): Promise<void> {
    for (let done = 0; done < bytes.byteLength;) {
      const { bytesWritten } = await this.#handle.write(bytes, done, bytes.byteLength - done, offset + done);
      done += bytesWritten;
    }
  }

  /** A copy of the bytes at the offset. */
  async read(offset: number, byteSize: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafeSlow(byteSize);
    for (let done = 0; done < byteSize;) {
      const { bytesRead } = await this.#handle.read(bytes, done, byteSize - done, offset + done);
      if (bytesRead === 0) throw new TritonError('INTERNAL', 'the shared memory of an answer has become smaller');
      done += bytesRead;
    }
    return bytes;
  }

  /** Nothing is read or written any more. The memory lasts until the server lets go of it too. */
  close(): Promise<void> {
    return this.#handle.close();
  }
}

// A file of holes would take memory when it is touched, and end a server that maps it where there is none left.
async function fill(handle: FileHandle, byteSize: number): Promise<void> {
  for (let at = 0; at < byteSize; at += ZEROS.length)
    await handle.write(ZEROS, 0, Math.min(ZEROS.length, byteSize - at));
}
