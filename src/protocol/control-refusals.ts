// Refuses requests of the control extensions on both wires, in Triton's words.

import { invalidArg, TritonError } from '../errors.js';

/** Throws UNSUPPORTED for a request that names a repository; undefined and '' name none. */
export function refuseRepository(name: string | undefined): void {
  if (name) throw new TritonError('UNSUPPORTED', "'repository_name' specification is not supported");
}

/** Throws INVALID_ARG for a parameter of a load that is neither a configuration nor a file. */
export function checkLoadParameter(name: string): void {
  if (name === 'config' || name.startsWith('file:')) return;
  throw invalidArg(`unrecognized load parameter '${name}'.`);
}

export function unknownCudaRegion(name: string): TritonError {
  return new TritonError('NOT_FOUND', `Unable to find cuda shared memory region: '${name}'`);
}

export function noCudaMemory(name: string): TritonError {
  const message = `failed to register CUDA shared memory region: '${name}', GPUs not supported`;
  return new TritonError('UNSUPPORTED', message);
}
