/**
 * Tensors between a client and a server on the same machine, in memory that both see.
 *
 * @module tstriton/client/shared-memory
 */

export { SharedMemory, type SharedMemoryOptions } from './shared-memory.js';
