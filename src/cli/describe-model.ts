// Describes a model of any server, from Triton's configuration. Servers without one, such as MLServer and
// KServe, give the metadata of the protocol that they share.

import type { ServerClient } from '../client/server/server-client.js';
import type { ConfiguredTensor } from '../client/server/server-data.js';
import { TritonError } from '../errors.js';
import type { CompleteTensorSpec } from '../model/complete-model-config.js';
import { OPENAI_ENDPOINTS } from '../model/openai.js';
import type { TensorMetadata } from '../protocol/model-metadata.js';
import { OPENAI, ROUTE } from '../protocol/model-config-json.js';
import { datatypeOfConfig } from '../protocol/model-signature.js';
import { dtypeOf, isDatatype, type Datatype, type Dtype } from '../tensor/dtype.js';
import type { DescribedModel } from './generate-module.js';

export interface DescribeOptions {
  readonly modelVersion: number | undefined;
  /** What BYTES are in TypeScript. */
  readonly bytesAs: 'string' | 'bytes';
}

/** Rejects with what the server says, and with INTERNAL when it describes what cannot be. */
export async function describeModel(
  server: ServerClient,
  name: string,
  { modelVersion, bytesAs }: DescribeOptions,
): Promise<DescribedModel> {
  const asked = modelVersion === undefined ? {} : { modelVersion };
  const metadata = await server.modelMetadata(name, asked);
  const config = await server.modelConfig(name, asked).catch((error: unknown) => {
    // The model is there: the server has no such endpoint.
    if (TritonError.is(error) && ['NOT_FOUND', 'UNSUPPORTED'].includes(error.code)) return undefined;
    throw error;
  });
  const dtype = (datatype: Datatype): Dtype => (datatype === 'BYTES' ? bytesAs : dtypeOf(datatype));
  if (config === undefined) {
    const tensor = (given: TensorMetadata): CompleteTensorSpec => {
      const datatype = knownDatatype(given);
      return { name: given.name, datatype, dtype: dtype(datatype), shape: given.shape, optional: false };
    };
    const { inputs, outputs } = metadata;
    return {
      name: metadata.name,
      version: modelVersion,
      source: 'metadata',
      inputs: inputs.map(tensor),
      outputs: outputs.map(tensor),
      maxBatchSize: 0,
      decoupled: false,
    };
  }
  const tensor = ({ name: tensorName, dataType, dims, optional }: ConfiguredTensor): CompleteTensorSpec => {
    const datatype = datatypeOfConfig(dataType);
    return { name: tensorName, datatype, dtype: dtype(datatype), shape: dims, optional: optional === true };
  };
  const policy = config['modelTransactionPolicy'] as { readonly decoupled?: boolean } | undefined;
  return {
    name: config.name,
    version: modelVersion,
    source: 'configuration',
    inputs: config.input.map(tensor),
    outputs: config.output.map((output) => ({ ...tensor(output), optional: false })),
    maxBatchSize: config.maxBatchSize,
    decoupled: policy?.decoupled === true,
    ...servedAt(config['parameters'] as ConfigParameters | undefined),
  };
}

type ConfigParameters = Readonly<Record<string, { readonly stringValue?: string } | undefined>>;

/** A server of ours says where it serves the model beside the protocol's own paths. */
function servedAt(parameters: ConfigParameters = {}): Pick<DescribedModel, 'openai' | 'route'> {
  const openai = OPENAI_ENDPOINTS.find((endpoint) => endpoint === parameters[OPENAI]?.stringValue);
  const route = /^POST (\/.*)$/.exec(parameters[ROUTE]?.stringValue ?? '')?.[1];
  return { ...(openai !== undefined && { openai }), ...(route !== undefined && { route }) };
}

function knownDatatype({ name, datatype }: TensorMetadata): Datatype {
  if (isDatatype(datatype)) return datatype;
  throw new TritonError('INTERNAL', `tensor '${name}' has the datatype ${JSON.stringify(datatype)}, which is unknown`);
}
