// The signature of a model whose server has no configurations, such as MLServer or KServe's Python SDK: from the metadata, which
// all servers of the protocol have. It knows no batch axis, so shapes are as they are sent.

import { TritonError } from '../errors.js';
import type { ModelSignature } from '../protocol/model-signature.js';
import { saysUnknownModel } from '../protocol/grpc/stream-error-code.js';
import type { ModelMetadataResponse } from '../protocol/protobuf/generated/grpc-service.js';
import { dtypeOf, isDatatype } from '../tensor/dtype.js';

/** Whether the server has no configurations. Triton's own words of an unknown model say more. */
export function lacksConfigurations({ code, message }: TritonError): boolean {
  return (code === 'NOT_FOUND' || code === 'UNSUPPORTED') && !saysUnknownModel(message);
}

/** Throws UNSUPPORTED when the metadata name no inputs, as of models that declare none to MLServer; INTERNAL for an unknown datatype. */
export function signatureOfMetadata({ name, inputs, outputs }: ModelMetadataResponse): ModelSignature {
  if (inputs.length === 0) {
    const declare = 'give the client a declaration (defineModel) instead of the name';
    throw new TritonError('UNSUPPORTED', `the server tells no inputs of model '${name}': ${declare}`);
  }
  const tensor = (given: (typeof inputs)[number]) => {
    const { datatype } = given;
    if (!isDatatype(datatype)) {
      throw new TritonError(
        'INTERNAL',
        `tensor '${given.name}' of model '${name}' has the unknown datatype '${datatype}'`,
      );
    }
    return { name: given.name, datatype, dtype: dtypeOf(datatype), shape: given.shape.map(Number), optional: false };
  };
  return { name, inputs: inputs.map(tensor), outputs: outputs.map(tensor), maxBatchSize: 0, decoupled: false };
}
