// One exchange in protocol-neutral form: what every frontend decodes into and encodes from, and what the core
// schedules. Tensors are raw wire bytes here; they become typed values only where a callable runs.

import type { Datatype } from '../tensor/dtype.js';
import type { Parameters } from './parameters.js';
import type { RequestSequence } from './request-sequence.js';
import type { Receipt, TraceContext } from './traces.js';

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
  /** Undefined for a request that is of no sequence. */
  readonly sequence?: RequestSequence | undefined;
  /**
   * Memory that inputs are views of and in which is nothing else that anybody still needs: it may be handed to another
   * thread instead of copied. Undefined where there is none.
   */
  readonly memory?: readonly ArrayBuffer[] | undefined;
  /** The models on whose behalf another model of this server makes the request; undefined for clients' requests. */
  readonly callers?: readonly string[] | undefined;
  /** The trace that the caller is in; read only where the server traces. */
  readonly traceContext?: TraceContext | undefined;
  /** How it came; told only where the server traces, and of clients' requests. */
  readonly receipt?: Receipt | undefined;
}

/** ModelInferResponse of the protocol. */
export interface ModelInferResponse {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly id: string;
  readonly parameters: Parameters | undefined;
  readonly outputs: readonly InferTensor[];
  /** Memory that outputs lie in and which is this answer's alone: whoever sends it may use it again. Undefined where there is none. */
  readonly memory?: ArrayBuffer | undefined;
}

/** Of less a copy costs less than to keep account of whose it is. */
const LEAST_BYTES = 1024 * 1024;

/** At multiples of this a view as any typed array may begin. */
export const ALIGNED_BYTES = 8;

/** How many bytes of memory that is larger are used: nothing else lies in it. */
const USED = new WeakMap<ArrayBufferLike, number>();

/** Of memory that is nobody else's, so many bytes, whose content is not set. Throws RangeError when there are none. */
export type Allocate = (bytes: number) => Buffer;

export const newMemory: Allocate = (bytes) => Buffer.allocUnsafeSlow(bytes);

/** Memory for so many bytes with the byte at `tensorsAt` where any typed array may begin: what lies there need not be copied to be viewed. */
export function alignedMemory(byteLength: number, tensorsAt: number, allocate: Allocate): Buffer {
  const padding = (ALIGNED_BYTES - (tensorsAt % ALIGNED_BYTES)) % ALIGNED_BYTES;
  const memory = allocate(padding + byteLength).subarray(padding, padding + byteLength);
  USED.set(memory.buffer, byteLength);
  return memory;
}

/** The memory under many bytes that are all that is in it, so that whoever has the bytes has all of it; undefined under a part. */
export function ownMemory({ buffer, byteLength }: Uint8Array): ArrayBuffer | undefined {
  if (byteLength < LEAST_BYTES || (USED.get(buffer) ?? buffer.byteLength) !== byteLength) return undefined;
  return buffer instanceof ArrayBuffer ? buffer : undefined;
}
