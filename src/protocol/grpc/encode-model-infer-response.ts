// A ModelInferResponse as one gRPC frame. Data is always raw: exactly one raw_output_contents entry for each output.

import type { ModelInferResponse } from '../../model/exchange.js';
import { parametersBound, writeParameters } from './infer-parameters.js';
import { tensorBound, writeTensor } from './infer-tensor-message.js';
import { LENGTH_DELIMITED } from './wire-reader.js';
import { stringBound, WireWriter } from './wire-writer.js';

const writer = new WireWriter();

/**
 * The chunks of the frame, prefix included: one, unless tensors are large. These are then chunks of their own, not
 * copied. Throws INVALID_ARG when the message is larger than gRPC allows.
 */
export function encodeModelInferResponse(response: ModelInferResponse): readonly Uint8Array[] {
  const { modelName, modelVersion, id, parameters, outputs } = response;
  let bound = stringBound(modelName) + stringBound(modelVersion) + stringBound(id);
  if (parameters !== undefined) bound += parametersBound(parameters);
  for (let i = 0; i < outputs.length; i++) bound += tensorBound(outputs[i]!);
  writer.begin(bound);
  if (modelName !== '') writer.string((1 << 3) | LENGTH_DELIMITED, modelName);
  if (modelVersion !== '') writer.string((2 << 3) | LENGTH_DELIMITED, modelVersion);
  if (id !== '') writer.string((3 << 3) | LENGTH_DELIMITED, id);
  if (parameters !== undefined) writeParameters(writer, (4 << 3) | LENGTH_DELIMITED, parameters);
  for (let i = 0; i < outputs.length; i++) writeTensor(writer, (5 << 3) | LENGTH_DELIMITED, outputs[i]!);
  for (let i = 0; i < outputs.length; i++) writer.rawField((6 << 3) | LENGTH_DELIMITED, outputs[i]!.bytes);
  return writer.finish();
}
