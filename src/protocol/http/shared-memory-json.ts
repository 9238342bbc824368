// The JSON of the system shared memory extension: what is registered, and what was.

import { TritonError } from '../../errors.js';
import type { SystemSharedMemoryRegion } from '../../model/shared-memory.js';
import { asString, asUnsigned, parseBody } from './json-access.js';
import { member } from './json-members.js';

/** Throws INVALID_ARG. */
export function decodeSharedMemoryRegistration(name: string, body: Buffer): SystemSharedMemoryRegion {
  const json = parseBody(body);
  const required = (field: string) => {
    const value = member(json, field);
    if (value !== undefined) return value;
    throw new TritonError('INVALID_ARG', `Shared memory register request has no '${field}' field`);
  };
  const key = asString(required('key'));
  const offset = member(json, 'offset');
  return {
    name,
    key,
    offset: offset === undefined ? 0 : asUnsigned(offset),
    byteSize: asUnsigned(required('byte_size')),
  };
}

/** What JSON.stringify takes. Registered sizes fit a number. */
export function sharedMemoryStatusJson(regions: readonly SystemSharedMemoryRegion[]): readonly unknown[] {
  return regions.map(({ name, key, offset, byteSize }) => ({
    name,
    key,
    offset: Number(offset),
    byte_size: Number(byteSize),
  }));
}
