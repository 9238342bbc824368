// Reads the parts of a ModelConfigResponse that a client needs.

import { TritonError } from '../../errors.js';
import type { CompleteTensorSpec } from '../../model/complete-model-config.js';
import { dtypeOf } from '../../tensor/dtype.js';
import { datatypeOfConfig, type ModelSignature } from '../model-signature.js';
import { ModelConfigResponse } from '../protobuf/generated/grpc-service.js';
import { DataType, type ModelConfig, type ModelInput, type ModelOutput } from '../protobuf/generated/model-config.js';
import { decodeResponse } from './decode-message.js';

/** Throws INTERNAL when the bytes are not a model configuration. */
export function decodeModelConfigResponse(bytes: Uint8Array): ModelSignature {
  const config = readConfig(bytes);
  return {
    name: config.name,
    inputs: config.input.map((input) => tensorSpec(input, input.optional)),
    outputs: config.output.map((output) => tensorSpec(output, false)),
    maxBatchSize: config.maxBatchSize,
    decoupled: config.modelTransactionPolicy?.decoupled ?? false,
  };
}

function readConfig(bytes: Uint8Array): ModelConfig {
  const { config } = decodeResponse(ModelConfigResponse, bytes);
  if (config === undefined)
    throw new TritonError('INTERNAL', 'malformed response of the server: it has no model configuration');
  return config;
}

function tensorSpec({ name, dataType, dims }: ModelInput | ModelOutput, optional: boolean): CompleteTensorSpec {
  const datatype = datatypeOfConfig(DataType.names.get(dataType) ?? String(dataType));
  return { name, datatype, dtype: dtypeOf(datatype), shape: dims.map(Number), optional };
}
