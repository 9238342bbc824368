// Makes Triton's control inputs, from the id, start and end that a request gives for its sequence.

import type { CompleteControl } from '../model/complete-model-config.js';
import type { RequestSequence } from '../model/request-sequence.js';
import type { DataOf, Dtype } from '../tensor/dtype.js';
import { Tensor } from '../tensor/tensor.js';

/** The origin of a row: a request, or an empty slot. */
export interface ControlledRow {
  /** Undefined for an empty slot. */
  readonly sequence: RequestSequence | undefined;
  /** Tells the sequence from all others of its model. */
  readonly serial: number;
}

/** The tensor of a control, for one row. */
export function controlTensor({ control, dtype, falseTrue }: CompleteControl, row: ControlledRow, batched: boolean) {
  const shape = batched ? [1, 1] : [1];
  return new Tensor(
    dtype,
    control === 'CORRID' ? idAs(dtype, row) : flagAs(dtype, falseTrue[flagOf(control, row)]),
    shape,
  );
}

function flagOf(control: 'START' | 'END' | 'READY', { sequence }: ControlledRow): 0 | 1 {
  if (sequence === undefined) return 0;
  return control === 'READY' || (control === 'START' ? sequence.start : sequence.end) ? 1 : 0;
}

function flagAs(dtype: Dtype, value: number): DataOf[Dtype] {
  if (dtype === 'float32') return Float32Array.of(value);
  return dtype === 'int32' ? Int32Array.of(value) : Uint8Array.of(value === 0 ? 0 : 1);
}

/**
 * The id in the form of its input. An input of 32 bits gets the low ones, as in Triton. A text has no number: its
 * row gets one from 2^63 on that no other sequence of the model has.
 */
function idAs(dtype: Dtype, { sequence, serial }: ControlledRow): DataOf[Dtype] {
  const id = sequence?.id ?? 0;
  if (dtype === 'string') return [sequence === undefined ? '' : String(id)];
  const number = typeof id === 'string' ? (1n << 63n) + BigInt(serial) : BigInt(id);
  if (dtype === 'uint64') return BigUint64Array.of(number);
  if (dtype === 'int64') return BigInt64Array.of(BigInt.asIntN(64, number));
  const low = Number(BigInt.asUintN(32, number));
  return dtype === 'uint32' ? Uint32Array.of(low) : Int32Array.of(low);
}
