// The tables of messages read the JSON of answers as protobuf's own library does, with the same errors or none.
import { fromJson as readMessage, type DescMessage, type JsonValue } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { browserMessages } from '../../scripts/browser-messages.js';
import * as config from '../protocol/grpc/generated/model_config_pb.js';
import * as service from '../protocol/grpc/generated/grpc_service_pb.js';
import { plainMessage } from '../protocol/plain-message.js';
import { create, enumeration, fromJson, message, type Message } from './browser-messages.js';

const MESSAGES = 'messages';
const DESCRIPTORS = { ...config, ...service };

/** The exports of the module that takes the place of the generated ones. */
const tables = (() => {
  const texts = [browserMessages(config, [], MESSAGES), browserMessages(service, [['config', config]], MESSAGES)];
  const code = texts.join('\n').replace(/^import .*$/gm, '').replace(/^export /gm, ''); // prettier-ignore
  const names = [...code.matchAll(/^const (\w+)/gm)].map(([, name]) => name!);
  // oxlint-disable-next-line typescript/no-implied-eval -- it is our own, and what the bundle holds
  const evaluate = new Function('message', 'enumeration', `${code}\nreturn { ${names.join(', ')} };`) as (
    ...args: unknown[]
  ) => Record<string, Message | undefined>;
  return evaluate(message, enumeration);
})();

function both(name: keyof typeof config | keyof typeof service, json: JsonValue) {
  const desc = DESCRIPTORS[name] as unknown as DescMessage;
  const table = tables[name]!;
  return {
    ours: plainMessage(table as never, fromJson(table, json) as never),
    theirs: plainMessage(desc, readMessage(desc, json, { ignoreUnknownFields: true })),
  };
}

const CONFIG = {
  name: 'm',
  max_batch_size: 8,
  version_policy: { latest: { num_versions: 2 } },
  input: [{ name: 'x', data_type: 'TYPE_FP32', dims: ['-1', 3], optional: true, reshape: { shape: [1] } }],
  output: [{ name: 'y', data_type: 11, dims: [], label_filename: 'labels.txt' }],
  instance_group: [{ name: 'g', kind: 'KIND_CPU', count: 2, gpus: [0, 1], rate_limiter: null }],
  dynamic_batching: {
    preferred_batch_size: [4, 8],
    max_queue_delay_microseconds: '18446744073709551615',
    priority_queue_policy: { 1: { timeout_action: 'DELAY', allow_timeout_override: true } },
  },
  parameters: { some_key: { string_value: 'v' } },
  model_warmup: [{ name: 'w', inputs: { x: { data_type: 'TYPE_INT32', dims: [1], zero_data: true } } }],
  cc_model_filenames: { '6.1': 'a' },
  unknown_to_us: [{ a: 1 }],
  modelTransactionPolicy: { decoupled: true },
};

describe('messages read by tables', () => {
  it.each<[keyof typeof config | keyof typeof service, JsonValue]>([
    ['ModelConfigSchema', CONFIG],
    ['ModelConfigSchema', {}],
    ['ModelConfigResponseSchema', { config: CONFIG }],
    ['ServerLiveResponseSchema', { live: true }],
    ['ServerMetadataResponseSchema', { name: 'n', extensions: ['a', 'b'] }],
    ['ModelStatisticsResponseSchema', { model_stats: [{ name: 'm', last_inference: 1700000000123, inference_stats: { success: { count: '3', ns: 4 } }, batch_stats: [{ batch_size: 1, compute_infer: {} }], response_stats: { 0: { success: { count: 1, ns: 2 } } } }] }],
    ['TraceSettingResponseSchema', { settings: { trace_rate: { value: ['1'] } } }],
    ['LogSettingsResponseSchema', { settings: { log_info: { bool_param: false }, log_verbose_level: { uint32_param: 0 }, log_file: { string_param: '' } } }],
  ])('%s is what protobuf makes of it', (name, json) => {
    const { ours, theirs } = both(name, json);
    expect(ours).toEqual(theirs);
  }); // prettier-ignore

  it.each<[keyof typeof service, JsonValue]>([
    ['ModelConfigResponseSchema', []],
    ['ModelConfigResponseSchema', { config: 'x' }],
    ['ModelConfigResponseSchema', { config: { name: 1 } }],
    ['ModelConfigResponseSchema', { config: { max_batch_size: 'many' } }],
    ['ModelConfigResponseSchema', { config: { input: {} } }],
    ['ModelConfigResponseSchema', { config: { input: [{ data_type: 'TYPE_NOPE' }] } }],
    ['ModelConfigResponseSchema', { config: { parameters: [] } }],
    ['ServerLiveResponseSchema', { live: 'yes' }],
    ['ModelStatisticsResponseSchema', { model_stats: [{ last_inference: 'x' }] }],
  ])('%s refuses what protobuf refuses: %j', (name, json) => {
    expect(() => fromJson(tables[name]!, json)).toThrow(/^expected /);
    expect(() => readMessage(DESCRIPTORS[name] as unknown as DescMessage, json)).toThrow(/cannot decode/);
  });

  it('have the defaults of their fields where nothing is set', () => {
    expect(create(tables['ModelReadyResponseSchema']!)).toEqual({ ready: false });
    expect(create(tables['ModelStatisticsSchema']!)).toMatchObject({ name: '', lastInference: 0n, batchStats: [] });
  });
});
