// A batch of requests as transferable memory. The frame is a header of doubles and the tensors' bytes:
//
//   requests, then per request: rows, and per declared input: rank (-1: not sent), dimensions…, buffer, offset, length
//
// Offsets into the frame count from the end of the header. The rows of one input lie one after the other, so
// that joining a batch's rows is a view. A large request body is handed over whole, as a buffer of its own.

import { assert } from '../errors.js';
import type { ExecutionRequest } from '../core/instance/model-instance.js';
import type { Parameters } from '../model/callable.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { InferTensor } from '../model/exchange.js';
import { HostedRequest } from '../model/inference-request.js';
import { decodeRaw } from '../tensor/raw.js';
import { Tensor } from '../tensor/tensor.js';
import { alignTo8 } from './align.js';
import type { RequestExtras } from './messages.js';

/** Below this many bytes of a request a copy is cheaper than handing over one more buffer. */
const HAND_OVER_BYTES = 64 * 1024;

export interface EncodedBatch {
  /** The frame first. All of them are to be transferred. */
  readonly buffers: ArrayBuffer[];
  readonly extras: RequestExtras | undefined;
}

/** Packs a batch. Bodies that are handed over are gone for the caller once the message is sent. */
export function encodeBatch(batch: readonly ExecutionRequest[], config: CompleteModelConfig): EncodedBatch {
  const inputCount = config.inputs.length;
  const handedOver = batch.map(handOver);
  const offsets: number[] = [];
  let dataBytes = 0;
  let headerLength = 1 + batch.length;
  for (let index = 0; index < inputCount; index++) {
    dataBytes = alignTo8(dataBytes);
    for (let r = 0; r < batch.length; r++) {
      const input = batch[r]!.inputs[index];
      headerLength += input === undefined ? 1 : input.shape.length + 4;
      if (input === undefined || handedOver[r] !== undefined) continue;
      offsets[r * inputCount + index] = dataBytes;
      dataBytes += input.bytes.byteLength;
    }
  }

  const dataStart = headerLength * 8;
  const frame = Buffer.allocUnsafeSlow(dataStart + dataBytes);
  const header = new Float64Array(frame.buffer, 0, headerLength);
  const buffers: ArrayBuffer[] = [frame.buffer as ArrayBuffer];
  let at = 0;
  header[at++] = batch.length;
  for (let r = 0; r < batch.length; r++) {
    const request = batch[r]!;
    const body = handedOver[r];
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
      const offset = offsets[r * inputCount + index]!;
      header[at++] = body === undefined ? 0 : buffers.length - 1;
      header[at++] = body === undefined ? offset : bytes.byteOffset;
      header[at++] = bytes.byteLength;
      if (body === undefined) frame.set(bytes, dataStart + offset);
    }
  }
  return { buffers, extras: encodeExtras(batch) };
}

/** The request's body when it is worth handing over and holds all of its inputs. */
function handOver({ body, inputs }: ExecutionRequest): ArrayBuffer | undefined {
  if (body === undefined || body.byteLength < HAND_OVER_BYTES) return undefined;
  let bytes = 0;
  for (const input of inputs as readonly (InferTensor | undefined)[]) {
    if (input === undefined) continue;
    if (input.bytes.buffer !== body) return undefined;
    bytes += input.bytes.byteLength;
  }
  return bytes >= HAND_OVER_BYTES ? body : undefined;
}

function encodeExtras(batch: readonly ExecutionRequest[]): RequestExtras | undefined {
  const ids = batch.some(({ id }) => id !== '') ? batch.map(({ id }) => id) : undefined;
  const parameters = batch.some((request) => request.parameters !== undefined) ? batch.map((request) => request.parameters) : undefined;
  const requestedOutputs = batch.some((request) => request.requestedOutputs.length > 0) ? batch.map((request) => request.requestedOutputs) : undefined;
  return ids === undefined && parameters === undefined && requestedOutputs === undefined ? undefined : { ids, parameters, requestedOutputs };
}

/** Unpacks a batch into the requests that the callable gets; their tensors are views of the buffers. */
export function decodeBatch(buffers: readonly ArrayBuffer[], extras: RequestExtras | undefined, config: CompleteModelConfig): HostedRequest[] {
  const frame = buffers[0]!;
  const header = new Float64Array(frame, 0, Math.floor(frame.byteLength / 8));
  const dataStart = headerLengthOf(header, config.inputs.length) * 8;
  const requests: HostedRequest[] = [];
  const count = header[0]!;
  let at = 1;
  for (let r = 0; r < count; r++) {
    const rows = header[at++]!;
    const inputs: Record<string, Tensor> = {};
    for (const spec of config.inputs) {
      const rank = header[at++]!;
      if (rank < 0) continue;
      const shape: number[] = [];
      for (let axis = 0; axis < rank; axis++) shape.push(header[at++]!);
      const buffer = header[at++]!;
      const offset = header[at++]! + (buffer === 0 ? dataStart : 0);
      const bytes = new Uint8Array(buffers[buffer]!, offset, header[at++]!);
      inputs[spec.name] = new Tensor(spec.dtype, decodeRaw(spec.dtype, bytes), shape);
    }
    requests.push(new HostedRequest(inputs, rows, extras?.ids?.[r] ?? '', parametersAt(extras, r)));
  }
  return requests;
}

function parametersAt(extras: RequestExtras | undefined, index: number): Parameters | undefined {
  return extras?.parameters?.[index];
}

function headerLengthOf(header: Float64Array, inputCount: number): number {
  let at = 1;
  for (let r = header[0]!; r > 0; r--) {
    at++;
    for (let index = 0; index < inputCount; index++) {
      const rank = header[at++]!;
      if (rank >= 0) at += rank + 3;
    }
  }
  assert(at <= header.length, 'a batch frame is shorter than its header');
  return at;
}
