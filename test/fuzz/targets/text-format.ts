// config.pbtxt, protobuf's text format: a message that can be written, and read, again, or an error that says where.
import { isDeepStrictEqual } from 'node:util';

import { decodeMessage } from '../../../src/protocol/grpc/decode-message.js';
import { ModelConfig } from '../../../src/protocol/protobuf/generated/model-config.js';
import { writeMessage } from '../../../src/protocol/protobuf/write-message.js';
import { readTextFormat } from '../../../src/protocol/text-format/read-text-format.js';
import { TextFormatError } from '../../../src/protocol/text-format/tokens.js';
import { type FuzzTarget, must } from '../fuzz-target.js';

const LINES = [
  'name: "m"',
  'name: \'m\' " more"',
  'max_batch_size: 8',
  'max_batch_size: 0x10;',
  'platform: "onnxruntime_onnx" # a comment',
  'input [ { name: "x" data_type: TYPE_FP32 dims: [ 3, -1 ] }, < name: "y" data_type: 9 dims: 1 dims: 010 > ]',
  'output { name: "\\303\\251\\x41\\u00e9" data_type: TYPE_STRING dims: 1 }',
  'instance_group [ { count: 2 kind: KIND_CPU } ]',
  'dynamic_batching { preferred_batch_size: [ 4, 8 ] max_queue_delay_microseconds: 100 }',
  'dynamic_batching { default_queue_policy { timeout_action: DELAY allow_timeout_override: true } }',
  'parameters { key: "a" value: { string_value: "b" } }',
  'version_policy: { latest { num_versions: 2 } }',
  'model_transaction_policy { decoupled: True }',
  'response_cache { enable: t }',
];

export const textFormat: FuzzTarget = {
  about: "config.pbtxt, protobuf's text format",
  make: (random) =>
    Buffer.from(
      LINES.filter(() => random.chance(0.3))
        .map((line) => line + random.of(['\n', '\n', ' ', ', ', '']))
        .join(''),
    ),
  check(input) {
    try {
      const message = readTextFormat(ModelConfig, input.toString());
      const again = decodeMessage(ModelConfig, writeMessage(ModelConfig, message));
      must(isDeepStrictEqual(message, again), () => 'written otherwise than read');
      return true;
    } catch (error) {
      if (error instanceof TextFormatError) return false;
      throw error;
    }
  },
};
