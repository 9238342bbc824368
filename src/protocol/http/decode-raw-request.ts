// The raw binary request: a body without any JSON, which holds the data of the model's only input that a request
// needs; Triton wants it to have no other. The shape follows from the
// configuration and the number of bytes (Triton's AddRawInput; core/src/infer_request.cc).

import { invalidArg, type TritonError } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import { type ModelInferRequest, ownMemory } from '../../model/exchange.js';
import { DATATYPE_BYTE_SIZE } from '../../tensor/dtype.js';
import { elementCount } from '../../tensor/shape.js';

export interface RequestBody {
  /** The version in the path; empty for the latest. */
  readonly modelVersion: string;
  readonly body: Buffer;
  /** Limit in bytes for the JSON part, and for a tensor that JSON expands to. */
  readonly maxInputSize: number;
}

/** Throws INVALID_ARG when the model's configuration does not determine the bytes' meaning. */
export function decodeRawRequest(
  config: CompleteModelConfig,
  { modelVersion, body, maxInputSize }: RequestBody,
): ModelInferRequest {
  if (body.length > maxInputSize) {
    throw invalidArg(
      `Raw input has a byte_size (${body.length} bytes) that exceeds the maximum allowed value of ${maxInputSize} bytes. ` +
        'Use --http-max-input-size to increase the limit.',
    );
  }
  // The data of optional inputs may be left out, and a body without JSON leaves it out.
  const required = config.inputs.filter(({ optional }) => !optional);
  const [input, ...others] = config.inputs.length === 1 ? config.inputs : required;
  if (input === undefined || others.length > 0) {
    const empty = body.length === 0 ? ': the body is empty, expected JSON with the inputs' : '';
    throw refuse(
      `Raw request must only have 1 input (found 1) to be deduced but got ${config.inputs.length} inputs in '${config.name}' model configuration${empty}`,
    );
  }
  const isBytes = input.datatype === 'BYTES';
  if (isBytes && (input.shape.length !== 1 || input.shape[0] !== 1)) {
    throw refuse(`For BYTE datatype raw input '${input.name}', the model must have input shape [1]`);
  }
  if (input.shape.filter((dim) => dim === -1).length > 1) {
    throw refuse(
      `The shape of the raw input '${input.name}' can not be deduced because there are more than one variable-sized dimension`,
    );
  }
  const fixed = elementCount(input.shape.filter((dim) => dim !== -1)) * DATATYPE_BYTE_SIZE[input.datatype];
  const open = fixed === 0 ? 0 : Math.floor(body.length / fixed);
  const shape = input.shape.map((dim) => (dim === -1 ? open : dim));
  const bytes = isBytes ? asElement(body) : body;
  const memory = ownMemory(bytes);
  return {
    modelName: config.name,
    modelVersion,
    id: '',
    parameters: undefined,
    inputs: [
      {
        name: input.name,
        datatype: input.datatype,
        shape: config.maxBatchSize > 0 ? [1, ...shape] : shape,
        bytes,
      },
    ],
    outputs: [],
    priority: 0,
    timeoutMicroseconds: 0,
    memory: memory && [memory],
  };
}

function refuse(message: string): TritonError {
  return invalidArg(`[request id: <id_unknown>] ${message}`);
}

function asElement(body: Buffer): Buffer {
  const element = Buffer.allocUnsafe(4 + body.length);
  element.writeUInt32LE(body.length, 0);
  body.copy(element, 4);
  return element;
}
