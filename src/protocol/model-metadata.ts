// Makes the JSON of GET /v2/models/M: the metadata that clients need to build requests.

import type { CompleteModelConfig, CompleteTensorSpec } from '../model/complete-model-config.js';
import { BACKEND } from './model-config-json.js';

export interface TensorMetadata {
  readonly name: string;
  /** `FP32`, `BYTES`, … */
  readonly datatype: string;
  /** The shape with the batch axis. -1 stands for any size. */
  readonly shape: readonly number[];
}

export interface ModelMetadata {
  readonly name: string;
  readonly versions: readonly string[];
  readonly platform: string;
  readonly inputs: readonly TensorMetadata[];
  readonly outputs: readonly TensorMetadata[];
}

export function modelMetadata(config: CompleteModelConfig, versions: readonly string[]): ModelMetadata {
  const tensor = ({ name, datatype, shape }: CompleteTensorSpec): TensorMetadata => ({
    name,
    datatype,
    shape: config.maxBatchSize > 0 ? [-1, ...shape] : shape,
  });
  return {
    name: config.name,
    versions,
    platform: config.file?.platform || config.file?.backend || BACKEND,
    inputs: config.inputs.map(tensor),
    outputs: config.outputs.map(tensor),
  };
}
