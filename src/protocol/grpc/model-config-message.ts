// A model's configuration as the protocol's message, made from the JSON that HTTP answers, so that both agree.

import { fromJson, type JsonValue } from '@bufbuild/protobuf';

import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import { modelConfigJson } from '../model-config-json.js';
import { ModelConfigSchema, type ModelConfig } from './generated/model_config_pb.js';

export function modelConfigMessage(config: CompleteModelConfig): ModelConfig {
  return fromJson(ModelConfigSchema, modelConfigJson(config) as JsonValue);
}
