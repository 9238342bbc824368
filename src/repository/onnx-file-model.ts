// A version of a model that is an ONNX file: `backend: "onnxruntime"`. What the configuration leaves out is completed from the file
// as Triton's backend does it (onnxruntime_backend, AutoCompleteConfig).

import { availableParallelism } from 'node:os';

import { invalidArg } from '../errors.js';
import { instanceGroup } from '../model/instance-group.js';
import { onnx, type OnnxOptions } from '../onnx/onnx.js';
import type { OnnxInstanceArgs } from '../onnx/onnx-session.js';
import { type OnnxSignature, type OnnxValue, readOnnxSignature } from '../onnx/onnx-signature.js';
import { mayShareBatchAxis, onnxSpecs } from '../onnx/onnx-specs.js';
import type { TensorJson } from '../protocol/config-message.js';
import { configTypeOf } from '../protocol/model-signature.js';
import { DTYPES, parseDtype } from '../tensor/dtype.js';
import { refused } from './check-config.js';
import type { ReadModel, VersionFiles, VersionModel } from './version-model.js';
import { optionsOf, type WrittenConfig } from './written-config.js';

/** Triton's default of --backend-config=default-max-batch-size. */
const DEFAULT_MAX_BATCH_SIZE = 4;
/** optimization.graph.level, in onnxruntime's words. */
const GRAPH_LEVELS: Readonly<Record<number, OnnxOptions['graphOptimizationLevel']>> = {
  [-1]: 'basic',
  0: 'all',
  1: 'extended',
};

export function onnxFileModel(
  written: WrittenConfig,
  { version, path, findInputFile, labels, isStrict, isGiven }: VersionFiles,
): ReadModel {
  const { name, json, instanceCount } = written;
  if (json.model_transaction_policy?.decoupled === true)
    throw refused('model_transaction_policy.decoupled', name, 'an ONNX model gives one answer to a request');
  const signature = visibleTensors(readOnnxSignature(path), written);
  const isComplete = json.input.length > 0 && json.output.length > 0;
  if (!isComplete && isStrict)
    throw invalidArg(
      `model '${name}' must specify inputs and outputs in config.pbtxt, because disableAutoCompleteConfig is true`,
    );
  const maxBatchSize = isComplete ? json.max_batch_size : completedBatchSize(signature, written);
  const isBatched = maxBatchSize > 0;
  const scalarsOf = (values: readonly OnnxValue[]) =>
    values.filter(({ shape }) => shape?.length === (isBatched ? 1 : 0)).map((value) => value.name);
  // Triton's AutoCompleteIO: a configuration has no tensors without dimensions, and completes them as one element.
  const completed = [
    ...(json.input.length === 0 ? scalarsOf(signature.inputs) : []),
    ...(json.output.length === 0 ? scalarsOf(signature.outputs) : []),
  ];
  const shapes = {
    ...Object.fromEntries(completed.map((tensor) => [tensor, isBatched ? [-1, 1] : [1]])),
    ...wireShapes('input', json.input, signature.inputs, { name, maxBatchSize }),
    ...wireShapes('output', json.output, signature.outputs, { name, maxBatchSize }),
  };
  const config = optionsOf(written, maxBatchSize, findInputFile);
  const {
    inputs,
    outputs,
    inferFunc,
    config: own,
  } = onnx(path, {
    modelName: name,
    count: instanceCount,
    shapes,
    ...(json.output.length === 0 ? {} : { outputs: json.output.map((output) => output.name) }),
    // Without batching, the first dimension of a shape stays unchanged.
    config: {
      batching: isBatched,
      ...(isBatched ? { maxBatchSize } : {}),
      ...(written.sequenceBatching && { sequenceBatching: written.sequenceBatching }),
    },
    ...sessionOptions(written),
  });
  const given = [...json.input, ...json.output].flatMap(({ name: tensor, reshape }): [string, readonly number[]][] =>
    reshape === undefined ? [] : [[tensor, reshape.shape.map(Number)]],
  );
  const scalars = [...scalarsOf(signature.inputs), ...scalarsOf(signature.outputs)];
  const reshapes = Object.fromEntries([...scalars.map((tensor) => [tensor, []] as const), ...given]);
  const model: VersionModel = {
    modelName: name,
    modelVersion: version,
    inputs,
    outputs: outputs.map((output) => {
      const own = labels.get(output.name!);
      return own === undefined ? output : { ...output, labels: own };
    }),
    config: {
      isolateFailures: own.isolateFailures ?? false,
      ...config,
      // Triton completes it as well.
      ...(!isComplete && maxBatchSize > 1 && json.dynamic_batching === undefined && json.sequence_batching === undefined
        ? { batcher: {} }
        : {}),
    },
    inferFunc: instanceGroup(inferFunc.url, {
      args: (inferFunc.args as readonly OnnxInstanceArgs[]).map((args): OnnxInstanceArgs => ({
        ...args,
        reshapes,
        isGiven,
      })),
    }),
  };
  return { model, reshapedScalars: isBatched ? completed : [] };
}

/**
 * The tensors of the file that clients see: no states, and no inputs that the sequence batcher makes. Clients get the output of a
 * state that the configuration declares as an output too.
 */
function visibleTensors({ inputs, outputs }: OnnxSignature, { json }: WrittenConfig): OnnxSignature {
  const { state = [], control_input: controls = [] } = json.sequence_batching ?? {};
  const hiddenInputs = [...state.map((each) => each.input_name), ...controls.map((each) => each.name)];
  const declared = json.output.map((each) => each.name);
  const hiddenOutputs = state.map((each) => each.output_name).filter((name) => !declared.includes(name));
  return {
    inputs: inputs.filter((value) => !hiddenInputs.includes(value.name)),
    outputs: outputs.filter((value) => !hiddenOutputs.includes(value.name)),
  };
}

/** Triton's AutoCompleteMaxBatch. */
function completedBatchSize({ inputs, outputs }: OnnxSignature, { name, json }: WrittenConfig): number {
  const canBatch = [...inputs, ...outputs].every(
    ({ shape }) => shape !== undefined && shape.length > 0 && typeof shape[0] !== 'number',
  );
  if (canBatch && json.max_batch_size > 0) return json.max_batch_size;
  // Triton batches such a model too, and its clients see elements of other requests.
  if (canBatch && mayShareBatchAxis([...inputs, ...outputs])) return DEFAULT_MAX_BATCH_SIZE;
  if (json.max_batch_size === 0) return 0;
  throw invalidArg(
    `autofill failed for model '${name}': model does not support batching while non-zero max_batch_size is specified`,
  );
}

interface Wire {
  readonly name: string;
  readonly maxBatchSize: number;
}

/** The shapes that clients see, with the batch axis, of the tensors that the configuration has; checked against the file's. */
function wireShapes(
  kind: 'input' | 'output',
  given: readonly TensorJson[],
  values: readonly OnnxValue[],
  { name, maxBatchSize }: Wire,
): Record<string, readonly number[]> {
  if (given.length === 0) return {};
  if (kind === 'input') checkInputs(given, values, name);
  const rows = maxBatchSize > 0 ? [-1] : [];
  return Object.fromEntries(
    given.map((tensor) => {
      const value = values.find((each) => each.name === tensor.name);
      if (value === undefined) {
        const allowed = values.map((each) => `'${each.name}'`).join(', ');
        throw invalidArg(
          `unexpected inference ${kind} '${tensor.name}' for model '${name}', allowed ${kind}s are: ${allowed}`,
        );
      }
      checkDatatype(kind, tensor, value, name);
      const dims = tensor.dims.map(Number);
      const own = [...rows, ...(tensor.reshape?.shape.map(Number) ?? dims)];
      checkShape(own, value, { name, maxBatchSize });
      checkReshape(tensor, name);
      return [tensor.name, [...rows, ...dims]];
    }),
  );
}

function checkInputs(given: readonly TensorJson[], values: readonly OnnxValue[], name: string): void {
  const optional = given.find((tensor) => tensor.optional === true);
  if (optional !== undefined)
    throw refused(
      `input '${optional.name}' with optional: true`,
      name,
      'an input with a value in the ONNX file keeps it; leave it out of config.pbtxt',
    );
  if (given.length < values.length) {
    throw invalidArg(
      `unable to load model '${name}', configuration expects ${given.length} inputs, model provides ${values.length}`,
    );
  }
}

function checkDatatype(kind: string, { name, data_type: given }: TensorJson, value: OnnxValue, model: string): void {
  // Which the file gives it, whatever its shape.
  const signature = { inputs: [], outputs: [{ ...value, shape: [] }] };
  const { outputs } = onnxSpecs(signature, {
    path: `model '${model}'`,
    outputs: undefined,
    shapes: {},
    batching: false,
    maxBatchSize: undefined,
  });
  const own = configTypeOf(DTYPES[parseDtype(outputs[0]!.dtype)].datatype);
  if (given === own) return;
  throw invalidArg(
    `unable to load model '${model}', configuration expects datatype ${given} for ${kind} '${name}', model provides ${own}`,
  );
}

/** Triton's CompareDimsSupported. */
function checkShape(given: readonly number[], { name: tensor, shape }: OnnxValue, { name, maxBatchSize }: Wire): void {
  // A file without the shape leaves it to the configuration.
  if (shape === undefined) return;
  const own = shape.map((dim) => (typeof dim === 'number' ? dim : -1));
  const where = `model '${name}', tensor '${tensor}': `;
  const batched = maxBatchSize > 0;
  if (!batched && own.length === 0) {
    if (given.every((dim) => dim === 1)) return;
    throw invalidArg(
      `unable to load model '${name}', scalar tensor '${tensor}', should only provide 1 in the model configuration when the model doesn't support batching. Model configuration provided: [${given.join()}].`,
    );
  }
  if (batched && own[0] !== -1 && !(own[0] === 1 && maxBatchSize === 1)) {
    throw invalidArg(
      `${where}for the model to support batching the shape should have at least 1 dimension and the first dimension must be -1; but shape expected by the model is [${own.join()}]`,
    );
  }
  const what = batched
    ? ` (an initial batch dimension because max_batch_size > 0 followed by the explicit tensor shape, making complete shape [${given.join()}])`
    : ` (shape [${given.join()}])`;
  if (own.length !== given.length) {
    throw invalidArg(
      `${where}the model expects ${own.length} dimensions (shape [${own.join()}]) but the model configuration specifies ${given.length} dimensions${what}`,
    );
  }
  const first = batched ? 1 : 0;
  if (own.slice(first).every((dim, index) => dim === -1 || dim === given[index + first])) return;
  throw invalidArg(
    `${where}the model expects shape [${own.join()}] but the model configuration specifies shape [${given.join()}]`,
  );
}

function checkReshape({ name, dims, reshape }: TensorJson, model: string): void {
  if (reshape === undefined) return;
  const product = (shape: readonly string[]) => shape.reduce((all, dim) => all * Number(dim), 1);
  const open = (shape: readonly string[]) => shape.filter((dim) => dim === '-1').length;
  if (open(dims) === open(reshape.shape) && open(dims) <= 1 && product(dims) === product(reshape.shape)) return;
  throw invalidArg(
    `model configuration of '${model}' has different size for dims and reshape of '${name}': dims [${dims.join()}], reshape [${reshape.shape.join()}]`,
  );
}

/** Triton's parameters of its backend, and its level of optimization. */
function sessionOptions({ name, json, parameters }: WrittenConfig): OnnxOptions {
  const level = json.optimization?.graph?.level ?? 0;
  const graphOptimizationLevel = GRAPH_LEVELS[level];
  if (graphOptimizationLevel === undefined)
    throw refused(`optimization.graph.level ${level}`, name, 'expected -1 (basic), 0 (all) or 1 (extended)');
  const threads = count(parameters, 'intra_op_thread_count', name);
  const between = count(parameters, 'inter_op_thread_count', name);
  const isParallel = parameters['execution_mode'] === '1';
  return {
    graphOptimizationLevel,
    ...(threads === undefined ? {} : { threads }),
    ...(between !== undefined
      ? { interOpNumThreads: between }
      : isParallel
        ? { interOpNumThreads: Math.max(2, availableParallelism()) }
        : {}),
    ...(parameters['enable_mem_arena'] === undefined
      ? {}
      : { sessionOptions: { enableCpuMemArena: parameters['enable_mem_arena'] !== '0' } }),
  };
}

/** 0 leaves it to onnxruntime, as in Triton. */
function count(parameters: WrittenConfig['parameters'], key: string, name: string): number | undefined {
  const text = parameters[key];
  if (text === undefined || text === '0') return undefined;
  if (/^[1-9][0-9]{0,3}$/.test(text)) return Number(text);
  throw invalidArg(`parameter '${key}' of model '${name}' must be a number of threads, got ${JSON.stringify(text)}`);
}
