// From a ModelConfigResponse to what a client needs of it.

import { fromBinary } from '@bufbuild/protobuf';

import { TritonError } from '../../errors.js';
import type { CompleteTensorSpec } from '../../model/complete-model-config.js';
import { dtypeOf } from '../../tensor/dtype.js';
import { datatypeOfConfig, type ModelSignature } from '../model-signature.js';
import { ModelConfigResponseSchema } from './generated/grpc_service_pb.js';
import { DataType, type ModelConfig, type ModelInput, type ModelOutput } from './generated/model_config_pb.js';

/** Throws INTERNAL when the bytes are no model configuration. */
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
  let config;
  try {
    ({ config } = fromBinary(ModelConfigResponseSchema, bytes));
  } catch (error) {
    throw new TritonError('INTERNAL', `malformed response of the server: ${TritonError.from(error).message}`, {
      cause: error,
    });
  }
  if (config === undefined)
    throw new TritonError('INTERNAL', 'malformed response of the server: it has no model configuration');
  return config;
}

function tensorSpec({ name, dataType, dims }: ModelInput | ModelOutput, optional: boolean): CompleteTensorSpec {
  const datatype = datatypeOfConfig(DataType[dataType] ?? String(dataType));
  return { name, datatype, dtype: dtypeOf(datatype), shape: dims.map(Number), optional };
}
