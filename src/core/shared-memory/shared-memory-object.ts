// Opens POSIX shared memory objects by their keys. On Linux they are the files of /dev/shm, so that Node needs no
// native code for them; shm_open itself does nothing else.

import { closeSync, constants, fstatSync, openSync } from 'node:fs';

import { invalidArg, TritonError } from '../../errors.js';
import type { OpenedObject } from './region-memory.js';

const FOLDER = '/dev/shm/';
/** NAME_MAX of Linux. */
const MAX_NAME_BYTES = 255;
// A link could lead out of the folder, and opening a pipe would wait for its other end.
const FLAGS = constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Throws INVALID_ARG when the object does not exist, and UNSUPPORTED on systems other than Linux. */
export function openSharedMemoryObject(key: string, platform: string = process.platform): OpenedObject {
  if (platform !== 'linux') {
    throw new TritonError(
      'UNSUPPORTED',
      `shared memory of clients is supported on Linux only, this server runs on ${platform}`,
    );
  }
  // The leading slash that POSIX wants may be left out on Linux.
  const name = key.startsWith('/') ? key.slice(1) : key;
  if (!isObjectName(name)) throw unopenable(key);
  let descriptor: number;
  try {
    descriptor = openSync(FOLDER + name, FLAGS);
  } catch (error) {
    throw unopenable(key, error);
  }
  const stats = fstatSync(descriptor);
  if (stats.isFile()) return { descriptor, size: stats.size };
  closeSync(descriptor);
  throw unopenable(key);
}

function isObjectName(name: string): boolean {
  return !/^(?:|\.|\.\.)$|[/\0]/.test(name) && Buffer.byteLength(name) <= MAX_NAME_BYTES;
}

function unopenable(key: string, cause?: unknown): TritonError {
  return invalidArg(`Unable to open shared memory region: '${key}'`, { cause });
}
