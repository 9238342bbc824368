// Declares requests and responses in protocol-neutral form. Every frontend decodes into them and encodes from them, and
// the core schedules them. Tensors are raw wire bytes here; they become typed values only where a callable runs.

import type { Datatype } from '../tensor/dtype.js';
import type { Parameters } from './parameters.js';
import type { RequestSequence } from './request-sequence.js';
import type { Receipt, TraceContext } from '../observability/traces.js';

/** A named tensor in wire form: little-endian elements, BYTES elements with 32-bit length prefixes. */
export interface InferTensor {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  /** Owned by the exchange: nobody else writes to it. */
  readonly bytes: Uint8Array;
}

/** ModelInferRequest of the protocol. */
export interface ModelInferRequest {
  readonly modelName: string;
  /** '' asks for the latest version. */
  readonly modelVersion: string;
  readonly id: string;
  /** Undefined when there are none. */
  readonly parameters: Parameters | undefined;
  readonly inputs: readonly InferTensor[];
  /** Names of the requested outputs; empty asks for all. */
  readonly outputs: readonly string[];
  /** Priority level; 0 means the default level. */
  readonly priority: number;
  /** The request's own queue timeout; 0 means none. */
  readonly timeoutMicroseconds: number;
  /** Undefined for a request outside a sequence. */
  readonly sequence?: RequestSequence | undefined;
  /**
   * Memory that holds only this request's inputs, as views. It may be handed to another thread instead of copied.
   * Undefined where there is none.
   */
  readonly memory?: readonly ArrayBuffer[] | undefined;
  /** The models on whose behalf another model of this server makes the request; undefined for clients' requests. */
  readonly callers?: readonly string[] | undefined;
  /** The trace that the caller is in; read only where the server traces. */
  readonly traceContext?: TraceContext | undefined;
  /** When the request came; only set where the server traces, and for clients' requests. */
  readonly receipt?: Receipt | undefined;
}

/** ModelInferResponse of the protocol. */
export interface ModelInferResponse {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly id: string;
  readonly parameters: Parameters | undefined;
  readonly outputs: readonly InferTensor[];
  /**
   * Memory that holds only this answer's outputs. The sender of the answer may use it again. Undefined where there is
   * none.
   */
  readonly memory?: ArrayBuffer | undefined;
}

/** A copy of fewer bytes costs less than tracking the owner of their memory. */
const LEAST_BYTES = 1024 * 1024;

/** A view as any typed array may begin at multiples of this. */
export const ALIGNED_BYTES = 8;

/** The used bytes of larger memory that holds nothing else. */
const USED = new WeakMap<ArrayBufferLike, number>();

/** Allocates memory that nothing else uses, without clearing it. Throws RangeError when there is too little. */
export type Allocate = (bytes: number) => Buffer;

export const newMemory: Allocate = (bytes) => Buffer.allocUnsafeSlow(bytes);

/**
 * Memory of `byteLength` bytes whose byte at `tensorsAt` is aligned for any typed array. So tensors there need no copy
 * to be viewed.
 */
export function alignedMemory(byteLength: number, tensorsAt: number, allocate: Allocate): Buffer {
  const padding = (ALIGNED_BYTES - (tensorsAt % ALIGNED_BYTES)) % ALIGNED_BYTES;
  const memory = allocate(padding + byteLength).subarray(padding, padding + byteLength);
  USED.set(memory.buffer, byteLength);
  return memory;
}

/** Notes that nothing else lies in the memory of these bytes, though it may be larger. Returns them. */
export function aloneInMemory(bytes: Buffer): Buffer {
  if (bytes.byteLength >= LEAST_BYTES) USED.set(bytes.buffer, bytes.byteLength);
  return bytes;
}

/** The memory under these bytes if it is large and holds nothing else; undefined otherwise. */
export function ownMemory({ buffer, byteLength }: Uint8Array): ArrayBuffer | undefined {
  if (byteLength < LEAST_BYTES || (USED.get(buffer) ?? buffer.byteLength) !== byteLength) return undefined;
  return buffer instanceof ArrayBuffer ? buffer : undefined;
}
