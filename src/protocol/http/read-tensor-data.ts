// Reads a tensor's `data` from its JSON text straight into wire bytes. It may be flat or nested: only the number of elements
// counts. The text is well-formed. Types are checked as in Triton, with its texts. Integers beyond the datatype's range are
// refused; Triton wraps them.

import { invalidArg } from '../../errors.js';
import { traitsOf } from '../../tensor/dtype.js';
import { numberReader } from './number-data.js';
import { StringReader } from './string-data.js';
import type { DataText, TensorDataReader, Wanted } from './tensor-data-reader.js';

/** Reads all elements. Throws INVALID_ARG. */
export function readTensorData(text: DataText, wanted: Wanted): Uint8Array {
  const reader = tensorDataReader(text, wanted);
  reader.advance(Infinity);
  return reader.values;
}

/** Throws INVALID_ARG for FP16 and BF16, which have no JSON form. */
export function tensorDataReader(text: DataText, wanted: Wanted): TensorDataReader {
  const { datatype, name } = wanted;
  switch (traitsOf(datatype).kind) {
    case 'bytes':
      return new StringReader(text, wanted);
    case 'half':
      throw invalidArg(
        `receiving ${datatype} data via JSON is not supported. Please use the binary data format for input ${name}`,
      );
    default:
      return numberReader(text, wanted);
  }
}
