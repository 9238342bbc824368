// Makes the user's record from the tensors of a response. A server may send anything, so sizes are checked before bytes become
// typed arrays.

import { TritonError } from '../../errors.js';
import type { InferTensor } from '../../model/exchange.js';
import type { ModelSignature } from '../../protocol/model-signature.js';
import { DATATYPE_BYTE_SIZE, dtypeOf, type Dtype } from '../../tensor/dtype.js';
import { BytesScan, decodeRaw } from '../../tensor/raw.js';
import { elementCount, formatShape } from '../../tensor/shape.js';
import { Tensor } from '../../tensor/tensor.js';
import type { InferKind } from './encode-inputs.js';

/** Throws INTERNAL for impossible tensors, and INVALID_ARG when the server's model differs from its spec. */
export function decodeOutputs(
  outputs: readonly InferTensor[],
  model: ModelSignature,
  kind: InferKind,
  classes?: ReadonlyMap<string, number>,
): Record<string, Tensor> {
  const withoutBatchAxis = kind === 'sample' && model.maxBatchSize > 0;
  // Not by assignment: an output may have any name, even __proto__.
  return Object.fromEntries(
    outputs.map((output) => {
      const { name } = output;
      checkSize(output, model.name);
      const shape = withoutBatchAxis ? sampleShape(output, model.name) : output.shape;
      const isClassified = classes?.has(name) === true && output.datatype === 'BYTES';
      const dtype = isClassified ? 'string' : dtypeOfOutput(output, model);
      return [name, new Tensor(dtype, decodeRaw(dtype, output.bytes), shape)];
    }),
  );
}

function dtypeOfOutput({ name, datatype }: InferTensor, model: ModelSignature): Dtype {
  const spec = model.outputs.find((output) => output.name === name);
  if (spec === undefined) return dtypeOf(datatype);
  if (spec.datatype === datatype) return spec.dtype;
  throw new TritonError(
    'INVALID_ARG',
    `output '${name}' of model '${model.name}' has datatype ${datatype}, but it is declared as ${spec.datatype}`,
  );
}

function sampleShape({ name, shape }: InferTensor, modelName: string): readonly number[] {
  if (shape[0] === 1) return shape.slice(1);
  throw new TritonError(
    'INTERNAL',
    `output '${name}' of model '${modelName}' has shape ${formatShape(shape)} for one sample, expected 1 row`,
  );
}

function checkSize({ name, datatype, shape, bytes }: InferTensor, modelName: string): void {
  const where = `output '${name}' of model '${modelName}' with shape ${formatShape(shape)}`;
  const count = elementCount(shape);
  if (datatype === 'BYTES') {
    const scan = new BytesScan(bytes);
    scan.advance(Infinity);
    if (scan.fault !== undefined) throw new TritonError('INTERNAL', `${where} ends inside an element`);
    if (scan.count !== count)
      throw new TritonError('INTERNAL', `${where} has ${scan.count} elements, expected ${count}`);
  } else if (bytes.byteLength !== count * DATATYPE_BYTE_SIZE[datatype]) {
    throw new TritonError(
      'INTERNAL',
      `${where} has ${bytes.byteLength} bytes of ${datatype}, expected ${count * DATATYPE_BYTE_SIZE[datatype]}`,
    );
  }
}
