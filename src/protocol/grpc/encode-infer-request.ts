// A ModelInferRequest as one gRPC frame, for clients. Data is always raw: one raw_input_contents entry for each input.

import type { RequestSequence } from '../../model/request-sequence.js';
import type { ClassifiedRequest } from '../classified-request.js';
import { SEQUENCE_END, SEQUENCE_ID, SEQUENCE_START } from '../sequence-parameters.js';
import { LENGTH_DELIMITED } from '../protobuf/wire-types.js';
import { parameterBound, parametersBound, writeParameter, writeParameters } from './infer-parameters.js';
import { tensorBound, writeTensor } from './tensor-message.js';
import { LENGTH_BOUND, stringBound, WireWriter } from './wire-writer.js';

const CLASSIFICATION = 'classification';
const OUTPUT_PARAMETERS_TAG = (2 << 3) | LENGTH_DELIMITED;
const PARAMETERS_TAG = (4 << 3) | LENGTH_DELIMITED;

const writer = new WireWriter();

/**
 * The chunks of the frame, prefix included. There is one chunk, unless tensors are large: each of these is a chunk of its own,
 * not copied. Throws INVALID_ARG when the message is larger than gRPC allows.
 */
export function encodeInferRequest(request: ClassifiedRequest): readonly Uint8Array[] {
  const { modelName, modelVersion, id, parameters, inputs, outputs, priority, timeoutMicroseconds, sequence, classes } =
    request;
  let bound = stringBound(modelName) + stringBound(modelVersion) + stringBound(id);
  bound += parameterBound('priority') + parameterBound('timeout');
  if (sequence !== undefined) bound += sequenceBound(sequence);
  if (parameters !== undefined) bound += parametersBound(parameters);
  for (let i = 0; i < inputs.length; i++) bound += tensorBound(inputs[i]!);
  for (let i = 0; i < outputs.length; i++)
    bound += LENGTH_BOUND + stringBound(outputs[i]!) + parameterBound(CLASSIFICATION);
  writer.begin(bound, 'Request');
  if (modelName !== '') writer.string((1 << 3) | LENGTH_DELIMITED, modelName);
  if (modelVersion !== '') writer.string((2 << 3) | LENGTH_DELIMITED, modelVersion);
  if (id !== '') writer.string((3 << 3) | LENGTH_DELIMITED, id);
  if (parameters !== undefined) writeParameters(writer, PARAMETERS_TAG, parameters);
  if (priority !== 0) writeParameter(writer, PARAMETERS_TAG, 'priority', { kind: 'uint64', value: priority });
  if (timeoutMicroseconds !== 0) {
    writeParameter(writer, PARAMETERS_TAG, 'timeout', { kind: 'int64', value: timeoutMicroseconds });
  }
  if (sequence !== undefined) writeSequence(sequence);
  for (let i = 0; i < inputs.length; i++) writeTensor(writer, (5 << 3) | LENGTH_DELIMITED, inputs[i]!);
  for (let i = 0; i < outputs.length; i++) {
    const start = writer.openMessage((6 << 3) | LENGTH_DELIMITED);
    writer.string((1 << 3) | LENGTH_DELIMITED, outputs[i]!);
    const count = classes?.get(outputs[i]!);
    if (count !== undefined)
      writeParameter(writer, OUTPUT_PARAMETERS_TAG, CLASSIFICATION, { kind: 'int64', value: count });
    writer.closeMessage(start);
  }
  for (let i = 0; i < inputs.length; i++) writer.rawField((7 << 3) | LENGTH_DELIMITED, inputs[i]!.bytes);
  return writer.finish();
}

function sequenceBound({ id }: RequestSequence): number {
  const names = parameterBound(SEQUENCE_ID) + parameterBound(SEQUENCE_START) + parameterBound(SEQUENCE_END);
  return names + (typeof id === 'string' ? stringBound(id) : 0);
}

function writeSequence({ id, start, end }: RequestSequence): void {
  // The field is signed, but servers read its bits as an unsigned number.
  const value = typeof id === 'bigint' ? BigInt.asIntN(64, id) : id;
  writeParameter(
    writer,
    PARAMETERS_TAG,
    SEQUENCE_ID,
    typeof value === 'string' ? { kind: 'string', value } : { kind: 'int64', value },
  );
  writeParameter(writer, PARAMETERS_TAG, SEQUENCE_START, { kind: 'bool', value: start });
  writeParameter(writer, PARAMETERS_TAG, SEQUENCE_END, { kind: 'bool', value: end });
}
