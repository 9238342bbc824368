// A batch of requests as transferable memory. The frame is a header of doubles and the tensors' bytes:
//
//   header's length, requests, then per request: rows, and per declared input:
//   rank (-1: not sent), dimensions…, buffer, offset, length
//
// Offsets into the frame count from the end of the header. The rows of one input lie one after the other, so
// that joining a batch's rows is a view. A large request body is handed over whole, as a buffer of its own.

import type { ExecutionRequest } from '../core/instance/model-instance.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { epochNow } from '../model/epoch-clock.js';
import { emptyInputs } from '../model/input-list.js';
import { HostedRequest } from '../model/inference-request.js';
import { requestedNames } from '../model/requested-outputs.js';
import { DTYPES, type DataOf, type Dtype } from '../tensor/dtype.js';
import { decodeRaw } from '../tensor/raw.js';
import { Tensor } from '../tensor/tensor.js';
import { alignTo8 } from './align.js';
import type { BatchTraces, RequestExtras } from './messages.js';

/** Below this many bytes of a request a copy is cheaper than handing over one more buffer. */
const HAND_OVER_BYTES = 64 * 1024;

const ALL: readonly string[] = [];

export interface EncodedBatch {
  /** The frame first. All of them are to be transferred. */
  readonly buffers: ArrayBuffer[];
  readonly extras: RequestExtras | undefined;
}

/** Packs a batch. Bodies that are handed over are gone for the caller once the message is sent. */
export function encodeBatch(batch: readonly ExecutionRequest[], config: CompleteModelConfig): EncodedBatch {
  const inputCount = config.inputs.length;
  const bodies: (ArrayBuffer | undefined)[] = [];
  for (let r = 0; r < batch.length; r++) bodies.push(bodyToHandOver(batch[r]!));

  // Where the next rows of each input go.
  const cursors: number[] = [];
  let headerLength = 2 + batch.length;
  let dataBytes = 0;
  for (let index = 0; index < inputCount; index++) {
    dataBytes = alignTo8(dataBytes);
    cursors.push(dataBytes);
    for (let r = 0; r < batch.length; r++) {
      const input = batch[r]!.inputs[index];
      headerLength += input === undefined ? 1 : input.shape.length + 4;
      if (input !== undefined && bodies[r] === undefined) dataBytes += input.bytes.byteLength;
    }
  }

  const dataStart = headerLength * 8;
  const frame = Buffer.allocUnsafeSlow(dataStart + dataBytes);
  const header = new Float64Array(frame.buffer, 0, headerLength);
  const buffers: ArrayBuffer[] = [frame.buffer as ArrayBuffer];
  header[0] = headerLength;
  header[1] = batch.length;
  let at = 2;
  for (let r = 0; r < batch.length; r++) {
    const request = batch[r]!;
    const body = bodies[r];
    if (body !== undefined) buffers.push(body);
    header[at++] = request.rows;
    for (let index = 0; index < inputCount; index++) {
      const input = request.inputs[index];
      if (input === undefined) {
        header[at++] = -1;
        continue;
      }
      const { shape, bytes } = input;
      header[at++] = shape.length;
      for (let axis = 0; axis < shape.length; axis++) header[at++] = shape[axis]!;
      if (body === undefined) {
        const offset = cursors[index]!;
        cursors[index] = offset + bytes.byteLength;
        frame.set(bytes, dataStart + offset);
        header[at++] = 0;
        header[at++] = offset;
      } else {
        header[at++] = buffers.length - 1;
        header[at++] = bytes.byteOffset;
      }
      header[at++] = bytes.byteLength;
    }
  }
  return { buffers, extras: encodeExtras(batch) };
}

/** Whether packing takes the request's body away from the caller. */
export function isHandedOver(request: ExecutionRequest): boolean {
  return bodyToHandOver(request) !== undefined;
}

/** The request's body when it is worth handing over and holds all of its inputs. */
function bodyToHandOver({ body, inputs }: ExecutionRequest): ArrayBuffer | undefined {
  if (body === undefined || body.byteLength < HAND_OVER_BYTES) return undefined;
  let bytes = 0;
  for (const input of inputs) {
    if (input === undefined) continue;
    if (input.bytes.buffer !== body) return undefined;
    bytes += input.bytes.byteLength;
  }
  return bytes >= HAND_OVER_BYTES ? body : undefined;
}

function encodeExtras(batch: readonly ExecutionRequest[]): RequestExtras | undefined {
  let hasIds = false;
  let hasParameters = false;
  let hasRequestedOutputs = false;
  let hasCallers = false;
  let hasTraces = false;
  for (let r = 0; r < batch.length; r++) {
    const request = batch[r]!;
    if (request.id !== '') hasIds = true;
    if (request.parameters !== undefined) hasParameters = true;
    if (request.requestedOutputs.length > 0) hasRequestedOutputs = true;
    if (request.callers !== undefined) hasCallers = true;
    if (request.trace !== undefined) hasTraces = true;
  }
  if (!hasIds && !hasParameters && !hasRequestedOutputs && !hasCallers && !hasTraces) return undefined;
  return {
    ids: hasIds ? batch.map(({ id }) => id) : undefined,
    parameters: hasParameters ? batch.map(({ parameters }) => parameters) : undefined,
    requestedOutputs: hasRequestedOutputs ? batch.map(({ requestedOutputs }) => requestedOutputs) : undefined,
    callers: hasCallers ? [...new Set(batch.flatMap(({ callers }) => callers ?? []))] : undefined,
    traces: hasTraces ? tracesOf(batch) : undefined,
  };
}

function tracesOf(batch: readonly ExecutionRequest[]): BatchTraces {
  return {
    dispatchedAt: epochNow(),
    // Plain data: what a request's trace can do stays with the engine.
    requests: batch.map(({ trace }) => trace && { context: trace.context, startedAt: trace.startedAt }),
  };
}

/** Unpacks a batch into the requests that the callable gets; their tensors are views of the buffers. */
export function decodeBatch(
  buffers: readonly ArrayBuffer[],
  extras: RequestExtras | undefined,
  config: CompleteModelConfig,
): HostedRequest[] {
  const frame = buffers[0]!;
  const headerLength = new Float64Array(frame, 0, 1)[0]!;
  const header = new Float64Array(frame, 0, headerLength);
  const dataStart = headerLength * 8;
  const requests: HostedRequest[] = [];
  const count = header[1]!;
  let at = 2;
  for (let r = 0; r < count; r++) {
    const rows = header[at++]!;
    const inputs = emptyInputs(config);
    for (let index = 0; index < config.inputs.length; index++) {
      const rank = header[at++]!;
      if (rank < 0) continue;
      const shape: number[] = [];
      for (let axis = 0; axis < rank; axis++) shape.push(header[at++]!);
      const buffer = header[at++]!;
      const offset = header[at++]! + (buffer === 0 ? dataStart : 0);
      const byteLength = header[at++]!;
      const { name, dtype } = config.inputs[index]!;
      inputs[name] = new Tensor(dtype, dataAt(dtype, buffers[buffer]!, offset, byteLength), shape);
    }
    const request = new HostedRequest(inputs, rows, extras?.ids?.[r] ?? '', extras?.parameters?.[r]);
    request.requestedOutputs = requestedNames(extras?.requestedOutputs?.[r] ?? ALL, config);
    requests.push(request);
  }
  return requests;
}

// As decodeRaw does, but for aligned numbers without the view of bytes in between.
function dataAt(dtype: Dtype, buffer: ArrayBuffer, offset: number, byteLength: number): DataOf[Dtype] {
  const { array, byteSize } = DTYPES[dtype];
  if (array === undefined || offset % byteSize !== 0)
    return decodeRaw(dtype, new Uint8Array(buffer, offset, byteLength));
  return new array(buffer, offset, byteLength / byteSize);
}
