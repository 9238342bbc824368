// Calls between models as messages carry them. Calls that differ only in their inputs share a head. The tensors of a message are
// lists: one for each call, or for each answer. Small tensors lie in one frame, because each object and each buffer of a message
// costs as much as to copy thousands of bytes. The frame is a header of doubles and the tensors' bytes:
//
//   header's length, lists, then per list: tensors (-1: none, because the call failed), and per tensor:
//   kind, rank, dimensions…, buffer, offset, length
//
// A kind is a name and a datatype. Offsets into the frame count from the end of the header.

import type { InferTensor } from '../model/exchange.js';
import type { ModelCall } from '../model/model-calls.js';
import { CALL, type CallHead, type CallMessage, type SentTensors } from './messages.js';
import { alignTo8 } from './result-frame.js';

/** Larger tensors have buffers of their own. */
const LARGEST_IN_FRAME = 4096;
const FAILED = -1;

/** A call on its way. */
export interface SentCall {
  readonly id: number;
  readonly call: ModelCall;
  readonly streams: boolean;
}

/** The inputs are handed over with the message. */
export function packCalls(calls: readonly SentCall[]): CallMessage {
  const heads: CallHead[] = [];
  const numbers: number[] = [];
  for (const sent of calls) {
    const head = headOf(sent);
    const last = heads.at(-1);
    // Members are compared by identity: that is cheap, and the calls of one batch share theirs.
    if (last === undefined || head.some((member, index) => member !== last[index])) heads.push(head);
    numbers.push(sent.id, heads.length - 1);
  }
  const inputs = calls.map(({ call }) => call.inputs);
  return [CALL, heads, numbers, packTensors(inputs, { owned: true })];
}

export function unpackCalls([, heads, numbers, packed]: CallMessage): SentCall[] {
  return unpackTensors(packed).map((inputs, index) => {
    const head = heads[numbers[2 * index + 1]!]!;
    return { id: numbers[2 * index]!, call: callOf(head, inputs!), streams: head[6] };
  });
}

function callOf(head: CallHead, inputs: readonly InferTensor[]): ModelCall {
  const [modelName, modelVersion, callers, outputs, priority, timeoutMicroseconds, , parameters, traceContext] = head;
  const urgency = { priority, timeoutMicroseconds };
  return { modelName, modelVersion, parameters, inputs, outputs, callers, traceContext, ...urgency };
}

function headOf({ call, streams }: SentCall): CallHead {
  const { modelName, modelVersion, callers, outputs, priority, timeoutMicroseconds, parameters, traceContext } = call;
  return [modelName, modelVersion, callers, outputs, priority, timeoutMicroseconds, streams, parameters, traceContext];
}

/** Undefined for a call that failed. */
export type TensorList = readonly InferTensor[] | undefined;

interface PackOptions {
  /** Nobody else needs the tensors. A large one that is alone in its buffer is handed over. Otherwise it is copied. */
  readonly owned: boolean;
}

export function packTensors(lists: readonly TensorList[], { owned }: PackOptions): SentTensors {
  let headerLength = 2 + lists.length;
  let bytesInFrame = 0;
  for (const list of lists) {
    if (list === undefined) continue;
    for (const { shape, bytes } of list) {
      headerLength += shape.length + 5;
      if (bytes.byteLength <= LARGEST_IN_FRAME) bytesInFrame += alignTo8(bytes.byteLength);
    }
  }
  const start = headerLength * 8;
  const frame = Buffer.allocUnsafeSlow(start + bytesInFrame);
  const header = new Float64Array(frame.buffer, 0, headerLength);
  const buffers = [frame.buffer as ArrayBuffer];
  const kinds: string[] = [];
  header[0] = headerLength;
  header[1] = lists.length;
  let at = 2;
  let used = 0;
  for (const list of lists) {
    header[at++] = list === undefined ? FAILED : list.length;
    if (list === undefined) continue;
    for (let index = 0; index < list.length; index++) {
      const { name, datatype, shape, bytes } = list[index]!;
      header[at++] = kindOf(kinds, index, name, datatype);
      header[at++] = shape.length;
      for (let axis = 0; axis < shape.length; axis++) header[at++] = shape[axis]!;
      const { byteLength } = bytes;
      if (byteLength <= LARGEST_IN_FRAME) {
        frame.set(bytes, start + used);
        header[at++] = 0;
        header[at++] = used;
        used += alignTo8(byteLength);
      } else {
        const large = owned && byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
        header[at++] = buffers.push(large.buffer as ArrayBuffer) - 1;
        header[at++] = large.byteOffset;
      }
      header[at++] = byteLength;
    }
  }
  return [kinds, buffers];
}

/** The number of a kind, which is most often the index of the tensor in its list. */
function kindOf(kinds: string[], likely: number, name: string, datatype: string): number {
  if (kinds[2 * likely] === name && kinds[2 * likely + 1] === datatype) return likely;
  for (let kind = 0; 2 * kind < kinds.length; kind++) {
    if (kinds[2 * kind] === name && kinds[2 * kind + 1] === datatype) return kind;
  }
  return kinds.push(name, datatype) / 2 - 1;
}

/** The tensors are views of the buffers. */
export function unpackTensors([kinds, buffers]: SentTensors): TensorList[] {
  const frame = buffers[0]!;
  const [headerLength, count] = new Float64Array(frame, 0, 2) as unknown as readonly [number, number];
  const header = new Float64Array(frame, 0, headerLength);
  const lists: TensorList[] = [];
  let at = 2;
  for (let i = 0; i < count; i++) {
    const length = header[at++]!;
    if (length === FAILED) {
      lists.push(undefined);
      continue;
    }
    const list: InferTensor[] = [];
    for (let index = 0; index < length; index++) {
      const kind = header[at++]!;
      const shape: number[] = [];
      for (let rank = header[at++]!; rank > 0; rank--) shape.push(header[at++]!);
      const buffer = header[at++]!;
      const offset = header[at++]! + (buffer === 0 ? headerLength * 8 : 0);
      const bytes = new Uint8Array(buffers[buffer]!, offset, header[at++]!);
      list.push({ name: kinds[2 * kind]!, datatype: kinds[2 * kind + 1]! as InferTensor['datatype'], shape, bytes });
    }
    lists.push(list);
  }
  return lists;
}
