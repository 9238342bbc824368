// Writes the config.pbtxt of a bound model for tritonserver's python backend.

import { TritonError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { UNLIMITED_CONCURRENCY } from '../model/complete-model.js';
import { modelConfigJson } from '../protocol/model-config-json.js';
import { configTypeOf } from '../protocol/model-signature.js';
import type { Datatype } from '../tensor/dtype.js';
import { elementCount } from '../tensor/shape.js';

/** A file that lies beside config.pbtxt, by its path. */
export type ModelFiles = Map<string, Uint8Array | string>;

/** Batches at a time of a decoupled model whose declaration does not limit them. */
const STREAMS = 4;
/** Each takes some 50 MB. */
const MOST_PROCESSES = 128;

type Json = Readonly<Record<string, unknown>>;

/** A model's configuration, and the files that it names. */
export interface WrittenConfig {
  /** In protobuf's JSON. */
  readonly json: Json;
  readonly files: ModelFiles;
}

/**
 * Returns the files of a model's folder, without its versions' files. Throws UNSUPPORTED for a model that tritonserver
 * cannot serve as it is declared.
 */
export function configFiles(config: CompleteModelConfig): ModelFiles {
  const { json, files } = writtenConfig(config);
  return files.set('config.pbtxt', textOf(json));
}

/** Throws UNSUPPORTED as {@link configFiles} does. */
export function writtenConfig(config: CompleteModelConfig): WrittenConfig {
  refuseUnsupported(config);
  const files: ModelFiles = new Map();
  const shown = modelConfigJson(config);
  const json = {
    name: config.name,
    backend: 'python',
    max_batch_size: config.maxBatchSize,
    input: shown['input'],
    output: (shown['output'] as readonly Json[]).map((output, index) => labelled(output, config, index, files)),
    ...(config.versionPolicy === undefined
      ? { version_policy: { all: {} } }
      : { version_policy: shown['version_policy'] }),
    ...(config.dynamicBatching === undefined ? {} : { dynamic_batching: shown['dynamic_batching'] }),
    instance_group: [{ kind: 'KIND_CPU', count: processCount(config) }],
    ...(config.decoupled ? { model_transaction_policy: { decoupled: true } } : {}),
    ...(config.responseCache ? { response_cache: { enable: true } } : {}),
    ...(config.parameters === undefined
      ? {}
      : {
          parameters: Object.fromEntries(Object.entries(config.parameters).map(([k, v]) => [k, { string_value: v }])),
        }),
    model_warmup: warmups(config, files),
  };
  return { json, files };
}

/** tritonserver gives an instance one batch at a time, and each has a process. */
function processCount({ name, instanceCount, concurrency }: CompleteModelConfig): number {
  const count = instanceCount * (concurrency === UNLIMITED_CONCURRENCY ? STREAMS : concurrency);
  if (count <= MOST_PROCESSES) return count;
  throw new TritonError(
    'UNSUPPORTED',
    `model '${name}' has ${instanceCount} instances with a concurrency of ${concurrency}: tritonserver needs a process for each of ${count} batches at a time, and more than ${MOST_PROCESSES} are refused`,
  );
}

function refuseUnsupported(config: CompleteModelConfig): void {
  const bfloat16 = [...config.inputs, ...config.outputs].find(({ datatype }) => datatype === 'BF16');
  const reasons: readonly (readonly [unknown, string])[] = [
    [config.sequenceBatching, 'sequenceBatching: its states and objects live in the engine of TSTriton'],
    [config.route, 'route: tritonserver has the paths of its protocol only'],
    [config.openai, 'openai: tritonserver has the paths of its protocol only'],
    [config.dynamicBatching?.groupByShape, 'groupByShape: the batcher of tritonserver has one queue'],
    [config.executionTimeoutMicroseconds, 'executionTimeoutMicroseconds: tritonserver does not end an execution'],
    [bfloat16, `the dtype of '${bfloat16?.name}': numpy, which the python backend gives tensors as, has no bfloat16`],
  ];
  const refused = reasons.find(([value]) => value !== undefined && value !== false && value !== 0);
  if (refused === undefined) return;
  throw new TritonError(
    'UNSUPPORTED',
    `model '${config.name}' cannot be served with engine: 'tritonserver', because of ${refused[1]}`,
  );
}

/** Labels lie in a file. */
function labelled(output: Json, config: CompleteModelConfig, index: number, files: ModelFiles): Json {
  const { labels } = config.outputs[index]!;
  if (labels === undefined) return output;
  const file = `labels-${index}.txt`;
  files.set(file, labels.map((label) => `${label}\n`).join(''));
  return { ...output, label_filename: file };
}

function warmups({ modelWarmup = [], maxBatchSize }: CompleteModelConfig, files: ModelFiles): readonly Json[] {
  return modelWarmup.map(({ name, count, inputs }, index) => ({
    name,
    count,
    batch_size: maxBatchSize > 0 ? (inputs[0]?.shape[0] ?? 1) : 1,
    inputs: Object.fromEntries(
      inputs.map(({ name: input, datatype, shape, bytes }, place) => {
        const file = `${index}-${place}`;
        files.set(`warmup/${file}`, maxBatchSize > 0 ? firstRow(datatype, shape, bytes) : bytes);
        const dims = maxBatchSize > 0 ? shape.slice(1) : shape;
        return [input, { data_type: configTypeOf(datatype), dims, input_data_file: file }];
      }),
    ),
  }));
}

/** tritonserver warms up with as many requests as the batch has rows, which all have the same row. */
function firstRow(datatype: Datatype, shape: readonly number[], bytes: Uint8Array): Uint8Array {
  const rows = Math.max(1, shape[0]!);
  if (datatype !== 'BYTES') return bytes.subarray(0, bytes.byteLength / rows);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let end = 0;
  for (let left = elementCount(shape) / rows; left > 0; left--) end += 4 + view.getUint32(end, true);
  return bytes.subarray(0, end);
}

/** Fields whose values are names, not texts. */
const ENUMS = new Set(['data_type', 'kind', 'format', 'timeout_action']);
/** Fields that are lists of a key and a value each. */
const MAPS = new Set(['parameters', 'inputs', 'priority_queue_policy']);

/** A message in protobuf's text format. */
function textOf(message: Json, indent = ''): string {
  return Object.entries(message)
    .map(([field, value]) => fieldText(field, value, indent))
    .join('');
}

function fieldText(field: string, value: unknown, indent: string): string {
  if (Array.isArray(value)) return value.map((element) => fieldText(field, element, indent)).join('');
  if (typeof value === 'object' && value !== null) {
    if (MAPS.has(field)) {
      const entries = Object.entries(value).map(([key, entry]) => [{ key: keyOf(field, key), value: entry }]);
      return entries.map((entry) => messageText(field, entry[0]!, indent)).join('');
    }
    return messageText(field, value as Json, indent);
  }
  const text = typeof value === 'string' && !ENUMS.has(field) ? quoted(value) : String(value);
  return `${indent}${field}: ${text}\n`;
}

function messageText(field: string, message: Json, indent: string): string {
  return `${indent}${field} {\n${textOf(message, `${indent}  `)}${indent}}\n`;
}

function keyOf(field: string, key: string): string | number {
  return field === 'priority_queue_policy' ? Number(key) : key;
}

/** The bytes of the text, so that any text is right. */
function quoted(text: string): string {
  const bytes = Buffer.from(text);
  let quotedText = '';
  for (const byte of bytes) {
    const isPlain = byte >= 0x20 && byte < 0x7f && byte !== 0x22 && byte !== 0x5c;
    quotedText += isPlain ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, '0')}`;
  }
  return `"${quotedText}"`;
}
