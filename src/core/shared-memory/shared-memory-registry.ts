// The regions of shared memory that clients registered, by name, and the ranges of them that requests use. A region
// that is unregistered while requests use it goes when the last of them has ended. Until then it takes further ones, as in Triton
// 2.73.
// Texts and order of checks follow Triton (server/src/shared_memory_manager.cc).

import { closeSync } from 'node:fs';

import { invalidArg, TritonError } from '../../errors.js';
import type { SharedMemoryReference, SystemSharedMemoryRegion } from '../../model/shared-memory.js';
import { RegionMemory } from './region-memory.js';
import { openSharedMemoryObject } from './shared-memory-object.js';
import type { Room } from '../room.js';
import { SharedMemoryRange } from './shared-memory-range.js';

export interface SharedMemoryRegistryOptions {
  /** Whether clients may register regions (`allowClientShm`). */
  readonly allowed: boolean;
  /** Room for what requests copy. Default: any. */
  readonly room?: Pick<Room, 'take' | 'give'> | undefined;
}

/** Each region holds a descriptor, of which a process has few. */
const MAX_REGIONS = 512;
const RESERVED_PREFIX = 'triton_python_backend_shm_region_';
const PAGE_BYTES = 4096n;
const MAX_UINT64 = 2n ** 64n - 1n;

interface Region extends SystemSharedMemoryRegion {
  readonly memory: RegionMemory;
  uses: number;
  unregistered: boolean;
}

export class SharedMemoryRegistry {
  /** Whether clients may register regions. */
  readonly allowed: boolean;
  readonly #room: Pick<Room, 'take' | 'give'> | undefined;
  readonly #regions = new Map<string, Region>();

  constructor({ allowed, room }: SharedMemoryRegistryOptions) {
    this.allowed = allowed;
    this.#room = room;
  }

  /** Throws UNSUPPORTED when clients may not use shared memory, ALREADY_EXISTS or INVALID_ARG. */
  register(region: SystemSharedMemoryRegion): void {
    const { name, key, offset, byteSize } = region;
    this.#checkAllowed();
    checkKey(name, key);
    if (this.#regions.has(name)) {
      throw new TritonError('ALREADY_EXISTS', `shared memory region '${name}' already in manager`);
    }
    if (this.#regions.size >= MAX_REGIONS) {
      throw new TritonError(
        'UNAVAILABLE',
        `cannot register shared memory region '${name}': ${MAX_REGIONS} regions are registered, expected no more`,
      );
    }
    const object = openSharedMemoryObject(key);
    try {
      checkBounds(name, BigInt(offset), BigInt(byteSize), BigInt(object.size));
    } catch (error) {
      closeSync(object.descriptor);
      throw error;
    }
    const memory = new RegionMemory(object, Number(offset));
    this.#regions.set(name, { name, key, offset, byteSize, memory, uses: 0, unregistered: false });
  }

  /** Unregisters a region. Unknown names are ignored. Throws UNSUPPORTED as {@link register} does. */
  unregister(name: string): void {
    this.#checkAllowed();
    const region = this.#regions.get(name);
    if (region !== undefined) this.#unregister(region);
  }

  /** Throws UNSUPPORTED as {@link register} does. */
  unregisterAll(): void {
    this.#checkAllowed();
    for (const region of this.#regions.values()) this.#unregister(region);
  }

  /** The regions by name, those included that wait for the requests that use them. */
  regions(): readonly SystemSharedMemoryRegion[] {
    return [...this.#regions.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Throws NOT_FOUND. */
  region(name: string): SystemSharedMemoryRegion {
    const region = this.#regions.get(name);
    if (region !== undefined) return region;
    throw new TritonError('NOT_FOUND', `Unable to find system shared memory region: '${name}'`);
  }

  /** A range for one request, which releases it when it has ended. Throws NOT_FOUND or INVALID_ARG. */
  use({ region: name, offset, byteSize }: SharedMemoryReference): SharedMemoryRange {
    const region = this.#regions.get(name);
    if (region === undefined) {
      throw new TritonError('NOT_FOUND', `Unable to find shared memory region: '${name}'`);
    }
    checkRange(region, BigInt.asUintN(64, BigInt(offset)), BigInt.asUintN(64, BigInt(byteSize)));
    region.uses++;
    const range = { offset: Number(offset), byteSize: Number(byteSize) };
    return new SharedMemoryRange(region.memory, range, { room: this.#room, released: () => this.#release(region) });
  }

  /** Closes every region, in use or not. */
  close(): void {
    for (const { memory } of this.#regions.values()) memory.close();
    this.#regions.clear();
  }

  #checkAllowed(): void {
    if (this.allowed) return;
    throw new TritonError(
      'UNSUPPORTED',
      "Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable.",
    );
  }

  #unregister(region: Region): void {
    region.unregistered = true;
    if (region.uses === 0) this.#drop(region);
  }

  #release(region: Region): void {
    if (--region.uses === 0 && region.unregistered) this.#drop(region);
  }

  #drop(region: Region): void {
    if (this.#regions.get(region.name) === region) this.#regions.delete(region.name);
    region.memory.close();
  }
}

function checkKey(name: string, key: string): void {
  const object = key.replace(/^\/+/, '');
  if (object === '') {
    throw invalidArg(`cannot register shared memory region '${name}' - invalid shm key '${key}'`);
  }
  // These names belong to Triton's Python backend. This server has none, but one may run beside it.
  if (object.startsWith(RESERVED_PREFIX)) {
    throw invalidArg(
      `cannot register shared memory region '${name}' with key '${key}' as the key contains the reserved prefix '${RESERVED_PREFIX}'`,
    );
  }
}

// What mmap would refuse is refused whatever the memory is, so that clients see one behaviour.
function checkBounds(name: string, offset: bigint, byteSize: bigint, size: bigint): void {
  const failed = (why: string) => invalidArg(`failed to register shared memory region '${name}': ${why}`);
  const overflows = offset + byteSize > MAX_UINT64;
  if (!overflows && offset + byteSize > size) throw failed('invalid args');
  if (overflows || byteSize === 0n || offset % PAGE_BYTES !== 0n) {
    throw failed('unable to process address spaceInvalid argument');
  }
}

function checkRange({ name, byteSize: regionSize }: Region, offset: bigint, byteSize: bigint): void {
  const refuse = (what: string) => invalidArg(`${what} for shared memory region: '${name}'`);
  if (offset >= BigInt(regionSize)) throw refuse('Invalid offset');
  if (byteSize > MAX_UINT64 - offset) {
    throw invalidArg(
      `Integer overflow detected: byte_size (${byteSize}) + offset (${offset}) exceeds maximum value (${MAX_UINT64}) for region '${name}'`,
    );
  }
  if (offset + byteSize > BigInt(regionSize)) throw refuse('Invalid offset + byte size');
}
