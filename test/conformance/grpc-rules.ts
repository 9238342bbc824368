// Where answers over gRPC differ from Triton's on purpose.
import {
  asksFor,
  inferRequest,
  methodName,
  refusal,
  STATUS,
  success,
  withJson,
  withMessage,
  type JsonObject,
} from './grpc-json.js';
import { GRPC_COMING_RULES } from './grpc-coming-rules.js';
import { GRPC_CONTROL_RULES } from './grpc-control-rules.js';
import { GRPC_STATISTICS_RULES } from './grpc-statistics-rules.js';
import { GRPC_STREAM_RULES, STREAM_CUT, STREAM_CUT_IN_SIMULATED_TIME } from './grpc-stream-rules.js';
import { REFUSED_EXTENSIONS, VERSION } from './http-answer-rules.js';
import { emptyBatch, inRequestOrder, laterInputDisagrees, withoutTraceback, X_MISSING } from './inference-messages.js';
import type { GrpcAnswer, GrpcRule, Json } from './replay-grpc.js';
import { listedCases } from './listed-cases.js';

const RANGES: Readonly<Record<string, readonly [least: number, most: number]>> = {
  INT8: [-128, 127],
  INT16: [-32_768, 32_767],
  UINT8: [0, 255],
  UINT16: [0, 65_535],
};

const LARGEST_BATCH = 8;
const MAX_INT64 = '9223372036854775807';

function withoutExtensions(recorded: GrpcAnswer, names: readonly string[]): GrpcAnswer {
  return withJson(recorded, (json) => ({
    ...json,
    extensions: (json['extensions'] as readonly string[]).filter((extension) => !names.includes(extension)),
  }));
}

/** The elements of BYTES data, and what is wrong with the last one. */
function scanStrings(base64: string): { readonly count: number; readonly cut: string | undefined } {
  const bytes = Buffer.from(base64, 'base64');
  let count = 0;
  for (let offset = 0; offset < bytes.length; count++) {
    const length = bytes.readUInt32LE(offset);
    const left = bytes.length - offset - 4;
    if (length > left) return { count, cut: `expecting string of length ${length} but only ${left} bytes available` };
    offset += 4 + length;
  }
  return { count, cut: undefined };
}

/** The refusal of a shape whose elements cannot be counted, or that no batch may have. */
function impossibleShape(shape: readonly string[]): GrpcAnswer | undefined {
  const dims = shape.map(BigInt);
  const text = `[${shape.join()}]`;
  const refuse = (message: string) => refusal(STATUS.INVALID_ARGUMENT, message);
  const count = dims.reduce((product, dim) => product * dim, 1n);
  const tooMany = `invalid shape for input 'x': shape ${text} causes total element count to exceed maximum size of ${MAX_INT64}`;
  // What no number holds is refused before the model's limits are looked at, as over HTTP.
  if (dims.some((dim) => dim > BigInt(Number.MAX_SAFE_INTEGER)) && 4n * count > BigInt(MAX_INT64)) {
    return refuse(
      count > BigInt(MAX_INT64)
        ? tooMany
        : `byte size overflow for input 'x': element count (${count}) * data type size (4) exceeds maximum allowed size (${MAX_INT64})`,
    );
  }
  const labelled = (message: string) => refuse(`[request id: <id_unknown>] ${message}`);
  if (dims[0]! > LARGEST_BATCH)
    return labelled(`inference request batch-size must be <= ${LARGEST_BATCH} for 'id_fp32'`);
  if (dims.some((dim) => dim < 0n)) {
    return labelled(`All input dimensions should be specified for input 'x' for model 'id_fp32', got ${text}`);
  }
  return 4n * count > BigInt(MAX_INT64) ? labelled(tooMany) : undefined;
}

/** The text that the model `params` answered with, changed. */
function withDescription(recorded: GrpcAnswer, change: (text: string) => string): GrpcAnswer {
  return withJson(recorded, (json) => {
    const [content] = (json['raw_output_contents'] ?? []) as readonly string[];
    if (content === undefined) return json;
    const text = Buffer.from(content, 'base64').subarray(4).toString();
    const changed = Buffer.from(change(text));
    const length = Buffer.alloc(4);
    length.writeUInt32LE(changed.length);
    return { ...json, raw_output_contents: [Buffer.concat([length, changed]).toString('base64')] as readonly Json[] };
  });
}

export const GRPC_RULES: readonly GrpcRule[] = [
  ...GRPC_COMING_RULES,
  ...GRPC_STREAM_RULES,
  ...GRPC_STATISTICS_RULES,
  ...GRPC_CONTROL_RULES,
  {
    name: 'an output is asked for once',
    reason: 'Newer Tritons refuse the second listing, in these words.',
    cases: ['duplicate output'],
    expects: (_recorded, testCase) =>
      testCase.name === 'duplicate output'
        ? refusal(STATUS.INVALID_ARGUMENT, "[request id: 7] output 'add' already exists in request")
        : undefined,
  },
  {
    name: 'the server survives',
    reason: 'Classification of BYTES ends the whole process of Triton.',
    cases: ['ServerLive after classification on BYTES'],
    expects: (_recorded, { name }) =>
      name === 'ServerLive after classification on BYTES' ? success({ live: true }) : undefined,
  },
  {
    name: 'classes of text are refused',
    reason: 'They end the whole server process of Triton.',
    cases: ['classification on BYTES'],
    expects: (_recorded, { name }) =>
      name === 'classification on BYTES'
        ? refusal(STATUS.INVALID_ARGUMENT, "class result not available for output due to unsupported type 'BYTES'")
        : undefined,
  },
  {
    name: 'the server says which it is',
    reason: 'Server metadata has the version of TSTriton.',
    cases: ['ServerMetadata', 'ServerMetadata with an unknown field in the request'],
    expects: (recorded, testCase) =>
      methodName(testCase) === 'ServerMetadata'
        ? withJson(recorded, (json) => ({ ...json, version: VERSION }))
        : undefined,
  },
  {
    name: 'CUDA shared memory is not named',
    reason: 'It is not served.',
    cases: ['ServerMetadata', 'ServerMetadata with an unknown field in the request'],
    expects: (recorded, testCase) =>
      methodName(testCase) === 'ServerMetadata' ? withoutExtensions(recorded, REFUSED_EXTENSIONS) : undefined,
  },
  {
    name: 'models are of backend tstriton',
    reason: 'They are TypeScript functions, not files for the Python backend.',
    cases: listedCases('grpc', 'models are of backend tstriton'),
    expects: (recorded, testCase) => {
      if (methodName(testCase) === 'ModelMetadata')
        return withJson(recorded, (json) => ({ ...json, platform: 'tstriton' }));
      if (methodName(testCase) !== 'ModelConfig') return undefined;
      return withJson(recorded, ({ config }) => {
        const { default_model_filename: _file, ...rest } = config as JsonObject;
        return { config: { ...rest, backend: 'tstriton' } };
      });
    },
  },
  {
    name: 'every bound version is served',
    reason: 'Whoever binds a version wants it served; latest(1) would silently drop all but the highest.',
    cases: listedCases('grpc', 'every bound version is served'),
    expects: (recorded, testCase) =>
      methodName(testCase) === 'ModelConfig'
        ? withJson(recorded, ({ config }) => ({ config: { ...(config as JsonObject), version_policy: { all: {} } } }))
        : undefined,
  },
  {
    name: 'a version is a whole number',
    reason: 'Triton reads as many digits as there are: `1x`, `1.0` and ` 1` are 1.',
    cases: [
      "model 'id_fp32' version '1x'",
      "ModelReady name 'addsub' version '1x'",
      "ModelReady name 'addsub' version '+1'",
      "ModelReady name 'addsub' version '1.0'",
      "ModelReady name 'addsub' version ' 1'",
      "ModelMetadata name 'addsub' version '1x'",
      "ModelMetadata name 'addsub' version '+1'",
      "ModelMetadata name 'addsub' version '1.0'",
      "ModelMetadata name 'addsub' version ' 1'",
      "ModelConfig name 'addsub' version '1x'",
      "ModelConfig name 'addsub' version '+1'",
      "ModelConfig name 'addsub' version '1.0'",
      "ModelConfig name 'addsub' version ' 1'",
    ],
    expects: (recorded, testCase) => {
      const { version } = asksFor(testCase);
      return recorded.code === STATUS.OK && !/^\d*$/.test(version)
        ? refusal(
            STATUS.INVALID_ARGUMENT,
            `failed to get model version from specified version string '${version}' (details: stol), version should be an integral value > 0`,
          )
        : undefined;
    },
  },
  {
    name: 'integers out of range are refused',
    reason: 'Triton keeps the low bits: 300 becomes 44 in an INT8, silently.',
    cases: [
      'INT8 typed out of range',
      'INT16 typed out of range',
      'UINT8 typed out of range',
      'UINT16 typed out of range',
    ],
    expects: (_recorded, testCase) => {
      const [input] = inferRequest(testCase)?.inputs ?? [];
      const range = RANGES[input?.datatype ?? ''];
      if (input === undefined || range === undefined) return undefined;
      const typed = input.datatype.startsWith('U') ? input.contents?.uint_contents : input.contents?.int_contents;
      const bad = typed?.find((value) => value < range[0] || value > range[1]);
      return bad === undefined
        ? undefined
        : refusal(
            STATUS.INVALID_ARGUMENT,
            `unexpected value ${bad} in explicit tensor data for input tensor 'x' for model '${asksFor(testCase).name}', ` +
              `expected datatype '${input.datatype}' with values from ${range[0]} to ${range[1]}`,
          );
    },
  },
  {
    name: 'all strings are counted',
    reason: 'Triton stops at the first one too many and tells a number that the client never sent.',
    cases: ['BYTES empty shape dimension [1,0], but 3 elements raw'],
    expects: (recorded, testCase) => {
      const [raw] = inferRequest(testCase)?.raw_input_contents ?? [];
      if (raw === undefined || !recorded.message.includes('unexpected number of string elements')) return undefined;
      return withMessage(recorded, (message) => message.replace(/elements \d+/, `elements ${scanStrings(raw).count}`));
    },
  },
  {
    name: 'a string that is cut off is named',
    reason: 'Triton counts it as missing when it is not the last.',
    cases: ['BYTES raw length beyond the buffer in the first element'],
    expects: (recorded, testCase) => {
      const [raw] = inferRequest(testCase)?.raw_input_contents ?? [];
      if (raw === undefined || !/expected \d+ string elements/.test(recorded.message)) return undefined;
      const { cut } = scanStrings(raw);
      return cut === undefined
        ? undefined
        : refusal(STATUS.INVALID_ARGUMENT, `incomplete string data for inference input 'x', ${cut}`);
    },
  },
  {
    name: 'a batch has at least one row',
    reason: 'Triton takes 0 for a missing batch dimension, or never answers.',
    cases: [
      'shape [0, 2] with data of 2 elements on a batching model',
      'shape [0, 2] with fitting data',
      'shape [0, 0] with data of 2 elements on a batching model',
      'shape [0, 0] with fitting data',
    ],
    expects: (_recorded, testCase) => {
      const { model_name: model = '', inputs = [] } = inferRequest(testCase) ?? {};
      return model.startsWith('id_') && inputs[0]?.shape?.[0] === '0'
        ? refusal(STATUS.INVALID_ARGUMENT, emptyBatch(model))
        : undefined;
    },
  },
  {
    name: 'sizes do not overflow',
    reason: 'Triton multiplies shapes without a check and expects wrapped and negative numbers of bytes.',
    cases: [
      'shape [1, -5] with data of 2 elements on a batching model',
      'shape [9223372036854775807, 2] with data of 2 elements on a batching model',
      'shape [1, 2305843009213693952] with data of 2 elements on a batching model',
      'shape [4294967296, 4294967296] with data of 2 elements on a batching model',
      'shape [-9223372036854775808, 1] with data of 2 elements on a batching model',
    ],
    expects: (recorded, testCase) => {
      const { model_name: model, inputs = [] } = inferRequest(testCase) ?? {};
      const shape = inputs[0]?.shape;
      return model === 'id_fp32' && shape !== undefined && recorded.message.includes('input byte size mismatch')
        ? impossibleShape(shape)
        : undefined;
    },
  },
  {
    name: 'inputs are named in the order of the request',
    reason: 'Triton names them in the order of a hash map, any of several, and loses a bracket where none is missing.',
    cases: ['inputs disagree on the batch', 'extra input', 'optional model, three inputs'],
    expects: (recorded, testCase) => {
      const names = (inferRequest(testCase)?.inputs ?? []).map(({ name }) => name);
      return withMessage(recorded, (message) => laterInputDisagrees(inRequestOrder(message, names), names));
    },
  },
  {
    name: 'an optional input does not stand for a required one',
    reason: 'Triton only counts them, and the model fails.',
    cases: ['required left out, optional given'],
    expects: (recorded, testCase) =>
      asksFor(testCase).name === 'optional' && recorded.code === STATUS.INTERNAL
        ? refusal(STATUS.INVALID_ARGUMENT, X_MISSING)
        : undefined,
  },
  {
    name: 'clients get messages, not tracebacks',
    reason: 'File names and lines of the server are for its log.',
    cases: ['raises', 'triton_grpc_error true: python exception'],
    expects: (recorded) => withMessage(recorded, withoutTraceback),
  },
  {
    name: 'numbers in parameters are numbers',
    reason: 'JavaScript does not tell 1.0 from 1.',
    cases: ['custom parameter double 1.0'],
    expects: (recorded, testCase) =>
      asksFor(testCase).name === 'params'
        ? withDescription(recorded, (text) => text.replace('{"p": 1.0}', '{"p": 1}'))
        : undefined,
  },
  {
    name: 'an empty sequence id is none',
    reason: 'It says nothing: a callable that asks whether there is a sequence gets one answer.',
    cases: ['sequence_id empty text'],
    expects: (recorded, testCase) =>
      asksFor(testCase).name === 'params'
        ? withDescription(recorded, (text) => text.replace('"correlation_id": ""', '"correlation_id": 0'))
        : undefined,
  },
  {
    name: 'timeout and asked outputs are not shown to callables',
    reason: 'They are for the server: it keeps the timeout itself, and outputs that nobody asked for are not sent.',
    cases: ['parameter timeout of kind int64', 'timeout negative', 'timeout largest'],
    expects: (recorded, testCase) =>
      asksFor(testCase).name === 'params'
        ? withDescription(recorded, (text) => text.replace(/"timeout": \d+/, '"timeout": 0'))
        : undefined,
  },
];

/** The same where deadlines come at their moments: how long a stream is that one of them cuts is compared too. */
export const GRPC_RULES_IN_SIMULATED_TIME: readonly GrpcRule[] = [
  ...GRPC_RULES.filter((rule) => rule !== STREAM_CUT),
  STREAM_CUT_IN_SIMULATED_TIME,
];
