// A batch of requests as transferable memory. The frame is a header of doubles and the tensors' bytes:
//
//   header's length, requests, then per request: rows, and per declared input:
//   rank (-1: not sent), dimensions…, buffer, offset, length
//
// Offsets into the frame count from the end of the header. The rows of one input lie one after the other, so that a view
// joins a batch's rows. Large memory that belongs to one request is handed over without a copy.

import type { ExecutionRequest } from '../core/instance/model-instance.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { HostedRequest } from '../model/inference-request.js';
import { emptyInputs } from '../model/input-list.js';
import { requestedNames } from '../model/requested-outputs.js';
import { copyPaced } from '../pacing/paced-bytes.js';
import { Pace, type PacedWork } from '../pacing/paced-work.js';
import { type BatchTraces, epochNow } from '../observability/traces.js';
import { type DataOf, DTYPES, type NumericDtype } from '../tensor/dtype.js';
import { ElementReader } from '../tensor/raw.js';
import { elementCount } from '../tensor/shape.js';
import { Tensor } from '../tensor/tensor.js';
import { joinInputs, LONG_JOIN_BYTES } from './joined-inputs.js';
import type { RequestExtras } from './messages.js';
import { alignTo8 } from './result-frame.js';

/** A buffer with fewer bytes is copied: the copy takes no time that matters, and joins the rows of a batch. */
const HAND_OVER_BYTES = 4 * 1024 * 1024;
/** The same limit for a batch of one request, which has nothing to join, and for a batch that is joined with pauses. */
const HAND_OVER_ALONE_BYTES = 512 * 1024;

const ALL: readonly string[] = [];

export interface EncodedBatch {
  /** The frame comes first. The sender transfers all of them. */
  readonly buffers: readonly ArrayBuffer[];
  readonly extras: RequestExtras | undefined;
}

/** Packs a batch. The caller loses the memory that is handed over once the message is sent. */
export function encodeBatch(batch: readonly ExecutionRequest[], config: CompleteModelConfig): EncodedBatch {
  const inputCount = config.inputs.length;
  const least = batch.length === 1 || isLong(batch) ? HAND_OVER_ALONE_BYTES : HAND_OVER_BYTES;
  // The place in the list of each buffer that is handed over.
  let places: Map<ArrayBufferLike, number> | undefined;
  for (let r = 0; r < batch.length; r++) {
    for (const buffer of handedOver(batch[r]!, least)) (places ??= new Map()).set(buffer, places.size + 1);
  }

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
      if (input !== undefined && !places?.has(input.bytes.buffer)) dataBytes += input.bytes.byteLength;
    }
  }

  const dataStart = headerLength * 8;
  const frame = Buffer.allocUnsafeSlow(dataStart + dataBytes);
  const header = new Float64Array(frame.buffer, 0, headerLength);
  const buffers: ArrayBuffer[] = [frame.buffer as ArrayBuffer];
  if (places !== undefined) for (const buffer of places.keys()) buffers.push(buffer as ArrayBuffer);
  header[0] = headerLength;
  header[1] = batch.length;
  let at = 2;
  for (let r = 0; r < batch.length; r++) {
    const request = batch[r]!;
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
      const place = places?.get(bytes.buffer);
      if (place === undefined) {
        const offset = cursors[index]!;
        cursors[index] = offset + bytes.byteLength;
        frame.set(bytes, dataStart + offset);
        header[at++] = 0;
        header[at++] = offset;
      } else {
        header[at++] = place;
        header[at++] = bytes.byteOffset;
      }
      header[at++] = bytes.byteLength;
    }
  }
  return { buffers, extras: encodeExtras(batch) };
}

function isLong(batch: readonly ExecutionRequest[]): boolean {
  let bytes = 0;
  for (const { inputs } of batch) for (const input of inputs) bytes += input?.bytes.byteLength ?? 0;
  return bytes > LONG_JOIN_BYTES;
}

const NOTHING: readonly ArrayBuffer[] = [];

/** The request's own buffers that hold at least `least` bytes of its inputs, and so are worth handing over. */
function handedOver({ memory, inputs }: ExecutionRequest, least: number): readonly ArrayBuffer[] {
  if (memory === undefined) return NOTHING;
  let worth: ArrayBuffer[] | undefined;
  for (const buffer of memory) {
    if (buffer.byteLength < least) continue;
    let bytes = 0;
    for (const input of inputs) if (input?.bytes.buffer === buffer) bytes += input.bytes.byteLength;
    if (bytes >= least) (worth ??= []).push(buffer);
  }
  return worth ?? NOTHING;
}

function encodeExtras(batch: readonly ExecutionRequest[]): RequestExtras | undefined {
  let hasIds = false;
  let hasParameters = false;
  let hasRequestedOutputs = false;
  let hasSequences = false;
  let hasPriorities = false;
  let hasTimeouts = false;
  let hasCallers = false;
  let hasTraces = false;
  for (let r = 0; r < batch.length; r++) {
    const request = batch[r]!;
    if (request.id !== '') hasIds = true;
    if (request.parameters !== undefined) hasParameters = true;
    if (request.requestedOutputs.length > 0) hasRequestedOutputs = true;
    if (request.sequence !== undefined) hasSequences = true;
    if (request.priority) hasPriorities = true;
    if (request.timeoutMicroseconds) hasTimeouts = true;
    if (request.callers !== undefined) hasCallers = true;
    if (request.trace !== undefined) hasTraces = true;
  }
  const hasUrgency = hasPriorities || hasTimeouts;
  const hasMore = hasSequences || hasUrgency || hasCallers || hasTraces;
  if (!hasIds && !hasParameters && !hasRequestedOutputs && !hasMore) return undefined;
  return {
    ids: hasIds ? batch.map(({ id }) => id) : undefined,
    parameters: hasParameters ? batch.map(({ parameters }) => parameters) : undefined,
    requestedOutputs: hasRequestedOutputs ? batch.map(({ requestedOutputs }) => requestedOutputs) : undefined,
    sequences: hasSequences ? batch.map(({ sequence }) => sequence) : undefined,
    places: batch[0]?.live && batch.flatMap(({ live }) => [live!.serial, live!.slot, live!.isOwn ? 1 : 0]),
    priorities: hasPriorities ? batch.map(({ priority = 0 }) => priority) : undefined,
    timeouts: hasTimeouts ? batch.map(({ timeoutMicroseconds = 0 }) => timeoutMicroseconds) : undefined,
    callers: hasCallers ? [...new Set(batch.flatMap(({ callers }) => callers ?? []))] : undefined,
    traces: hasTraces ? tracesOf(batch) : undefined,
  };
}

function tracesOf(batch: readonly ExecutionRequest[]): BatchTraces {
  return {
    dispatchedAt: epochNow(),
    // Plain data: the methods of a request's trace stay with the engine.
    requests: batch.map(({ trace }) => trace && { context: trace.context, startedAt: trace.startedAt }),
  };
}

/** How many requests a batch has. */
export function requestCount([frame]: readonly ArrayBuffer[]): number {
  return new Float64Array(frame!, 0, 2)[1]!;
}

/**
 * Unpacks a batch into the requests that the callable gets; their tensors are views of the buffers. Elements of BYTES
 * become objects, and numbers that are not aligned are copied. Much of either is done with pauses. `joinsRows` says that the callable gets the rows of all requests
 * as one.
 */
export function* decodeBatch(
  { buffers, extras }: EncodedBatch,
  config: CompleteModelConfig,
  joinsRows: boolean,
): PacedWork<readonly HostedRequest[]> {
  let pace: Pace | undefined;
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
      const place = buffers[buffer]!;
      const data =
        dtype === 'bytes' || dtype === 'string'
          ? yield* elementsAt(
              new ElementReader(dtype, new Uint8Array(place, offset, byteLength), elementCount(shape)),
              (pace ??= new Pace()),
            )
          : (dataAt(dtype, place, offset, byteLength) ??
            (yield* copiedData(dtype, new Uint8Array(place, offset, byteLength), (pace ??= new Pace()))));
      inputs[name] = new Tensor(dtype, data, shape);
    }
    const request = new HostedRequest(inputs, rows, extras?.ids?.[r] ?? '', extras?.parameters?.[r]);
    if (extras?.sequences !== undefined) request.sequence = extras.sequences[r];
    const places = extras?.places;
    if (places !== undefined) {
      request.live = { serial: places[3 * r]!, slot: places[3 * r + 1]!, isOwn: places[3 * r + 2] === 1 };
    }
    if (extras?.priorities !== undefined) request.priority = extras.priorities[r]!;
    if (extras?.timeouts !== undefined) request.timeoutMicroseconds = extras.timeouts[r]!;
    request.requestedOutputs = requestedNames(extras?.requestedOutputs?.[r] ?? ALL, config);
    requests.push(request);
  }
  // Rows in the frame lie together already.
  if (joinsRows && buffers.length > 1) yield* joinInputs(requests, config);
  return requests;
}

/** Aligned numbers as a view. Undefined for others. */
function dataAt(
  dtype: NumericDtype,
  buffer: ArrayBuffer,
  offset: number,
  byteLength: number,
): DataOf[NumericDtype] | undefined {
  const { array, byteSize } = DTYPES[dtype];
  if (offset % byteSize !== 0) return undefined;
  return new array(buffer, offset, byteLength / byteSize) as DataOf[NumericDtype];
}

function* copiedData(dtype: NumericDtype, bytes: Uint8Array, pace: Pace): PacedWork<DataOf[NumericDtype]> {
  const copy = Buffer.allocUnsafeSlow(bytes.byteLength);
  yield* copyPaced(bytes, copy, 0, pace);
  return dataAt(dtype, copy.buffer as ArrayBuffer, 0, copy.byteLength)!;
}

function* elementsAt<D extends 'bytes' | 'string'>(reader: ElementReader<D>, pace: Pace): PacedWork<DataOf[D]> {
  for (;;) {
    const { count, offset } = reader;
    const ended = reader.advance(ELEMENTS_AT_ONCE);
    if (pace.spend((reader.count - count) * BYTES_OF_AN_ELEMENT + ((reader.offset - offset) >> 3))) yield;
    if (ended) return reader.elements;
  }
}

const ELEMENTS_AT_ONCE = 256;
/** Making an object for an element takes as long as copying this many bytes. */
const BYTES_OF_AN_ELEMENT = 64;
