// Joins the rows of large inputs with pauses, before a callable gets the requests. `batch` then finds the rows one after
// the other, and copies nothing. Small inputs lie so in the frame; large inputs come in memory of their own.

import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { HostedRequest } from '../model/inference-request.js';
import type { NamedTensors } from '../model/input-list.js';
import { copyPaced } from '../pacing/paced-bytes.js';
import { Pace, type PacedWork } from '../pacing/paced-work.js';
import { lieTogether } from '../tensor/concat-rows.js';
import { type DataOf, DTYPES, isBytesDtype, type NumericDtype } from '../tensor/dtype.js';
import { sameShape } from '../tensor/shape.js';
import { Tensor } from '../tensor/tensor.js';

/** Copying fewer bytes takes no time that matters. */
export const LONG_JOIN_BYTES = 16 * 1024 * 1024;

export function* joinInputs(requests: readonly HostedRequest[], { inputs }: CompleteModelConfig): PacedWork<void> {
  if (requests.length < 2) return;
  const pace = new Pace();
  for (const { name, dtype } of inputs) {
    if (isBytesDtype(dtype)) continue;
    const tensors = requests.flatMap((request) => request.inputs[name] ?? []);
    const bytes = tensors.reduce((sum, { data }) => sum + (data as Uint8Array).byteLength, 0);
    if (bytes <= LONG_JOIN_BYTES || !canBeJoined(tensors) || lieTogether(tensors)) continue;
    const { buffer } = Buffer.allocUnsafeSlow(bytes);
    let offset = 0;
    for (const request of requests) {
      const tensor = request.inputs[name];
      if (tensor === undefined) continue;
      const data = tensor.data as Uint8Array;
      const end = offset + data.byteLength;
      yield* copyPaced(
        new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
        new Uint8Array(buffer),
        offset,
        pace,
      );
      const joined = viewOf(dtype as NumericDtype, buffer as ArrayBuffer, offset, data.length);
      // No other code has the request yet, so it may be changed.
      (request.inputs as NamedTensors)[name] = new Tensor(dtype, joined, tensor.shape);
      offset = end;
    }
  }
}

function canBeJoined(tensors: readonly Tensor[]): boolean {
  const row = tensors[0]!.shape.slice(1);
  return tensors.every(({ shape }) => shape.length > 0 && sameShape(shape.slice(1), row));
}

function viewOf(dtype: NumericDtype, buffer: ArrayBuffer, offset: number, length: number): DataOf[NumericDtype] {
  const { array } = DTYPES[dtype];
  return new array(buffer, offset, length) as DataOf[NumericDtype];
}
