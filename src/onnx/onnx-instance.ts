// The module that instance groups of ONNX models run: a session of onnxruntime-node in the thread's memory, which
// gets all rows of a batch at once. Loaded by its URL; imports onnxruntime-node, an optional peer, only when it runs.

import { basename } from 'node:path';

import type * as OrtModule from 'onnxruntime-node';
import type { InferenceSession, Tensor as OrtTensor } from 'onnxruntime-node';

import { invalidArg, TritonError } from '../errors.js';
import type { InferenceContext, InferenceRequest } from '../model/callable.js';
import type { CompleteModelConfig, CompleteSequenceState } from '../model/complete-model-config.js';
import { rowsOf } from '../model/inference-request.js';
import { leavingInputs } from '../model/isolated-failures.js';
import type { SetupContext } from '../model/run-setup.js';
import { concatRows } from '../tensor/concat-rows.js';
import { formatShape } from '../tensor/shape.js';
import { Tensor } from '../tensor/tensor.js';
import { rowsFrom, rowsTo } from './batch-axis.js';
import { type OnnxInstanceArgs, providerName } from './onnx-session.js';

type Ort = typeof OrtModule;
type Tensors = Readonly<Record<string, Tensor>>;

interface Loaded extends Pick<OnnxInstanceArgs, 'batchAxes' | 'constants'> {
  readonly ort: Ort;
  readonly session: InferenceSession;
  readonly reshapes: NonNullable<OnnxInstanceArgs['reshapes']>;
}

let loaded: Loaded | undefined;
/** The batches that the session works on. */
const underway = new Set<Promise<unknown>>();

export async function setup({ modelName, modelConfig, args }: SetupContext): Promise<void> {
  const { path, session: options, reshapes = {}, batchAxes, constants, isGiven = false } = args as OnnxInstanceArgs;
  const ort = await importOnnxruntime(modelName);
  if (isGiven) checkKeepsToFolder(modelName, ort);
  const backends = ort.listSupportedBackends().map(({ name }) => name);
  const missing = options.executionProviders.map(providerName).filter((name) => !backends.includes(name));
  if (missing.length > 0) throw missingProviders(modelName, missing, ort);
  let session: InferenceSession;
  try {
    session = await ort.InferenceSession.create(path, options as InferenceSession.SessionOptions);
  } catch (error) {
    const reason = `onnxruntime does not load model '${modelName}': ${reasonOf(error).replaceAll(path, basename(path))}`;
    const providers = options.executionProviders.map(providerName).join(', ');
    const hint = providers === 'cpu' ? '' : ` (execution providers ${providers}; ${describeBackends(ort)})`;
    throw new TritonError('UNAVAILABLE', `${reason}${hint}`, { cause: error });
  }
  checkNames(session, modelConfig, Object.keys(constants));
  loaded = { ort, session, reshapes, batchAxes, constants };
}

export async function teardown(): Promise<void> {
  const session = loaded?.session;
  loaded = undefined;
  await Promise.allSettled(underway);
  await session?.release();
}

/** Runs all rows of a batch at once. */
// oxlint-disable-next-line import/no-default-export -- what an instance group's module is
export default leavingInputs(infer);

async function infer(
  requests: readonly InferenceRequest[],
  { modelConfig, requestedOutputs: outputs }: InferenceContext,
): Promise<readonly Tensors[]> {
  const states = modelConfig.sequenceBatching?.states ?? [];
  if (modelConfig.maxBatchSize === 0) return [await run(requests[0]!.inputs as Tensors, 1, { outputs, modelConfig })];
  const results: Record<string, Tensor>[] = requests.map(() => ({}));
  // The batcher compares what clients send. States may have grown to different sizes.
  for (const places of groupedByShapes(requests, states)) {
    const group = places.map((place) => requests[place]!);
    const rows = group.map(rowsOf);
    const count = rows.reduce((sum, own) => sum + own, 0);
    const tensors = await run(joinInputs(group, modelConfig), count, { outputs, modelConfig });
    checkRows(tensors, count, modelConfig.name);
    for (const [name, tensor] of Object.entries(tensors)) {
      tensor.split(rows).forEach((part, index) => (results[places[index]!]![name] = part));
    }
  }
  return results;
}

/** The places of requests with states of the same shapes. */
function groupedByShapes(
  requests: readonly InferenceRequest[],
  states: readonly CompleteSequenceState[],
): Iterable<readonly number[]> {
  const growing = states.filter(({ shape }) => shape.includes(-1));
  const groups = new Map<string, number[]>();
  requests.forEach(({ inputs }, place) => {
    const key = growing.map(({ name }) => (inputs as Tensors)[name]!.shape.join()).join(';');
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [place]);
    else group.push(place);
  });
  return groups.values();
}

function joinInputs(requests: readonly InferenceRequest[], { inputs }: CompleteModelConfig): Tensors {
  return Object.fromEntries(
    inputs.map(({ name }) => [name, concatRows(requests.map((request) => (request.inputs as Tensors)[name]!))]),
  );
}

interface WantedOutputs {
  readonly outputs: readonly string[];
  readonly modelConfig: CompleteModelConfig;
}

/** Computes only what the wanted outputs need. */
async function run(inputs: Tensors, rows: number, { outputs, modelConfig }: WantedOutputs): Promise<Tensors> {
  const { name, maxBatchSize } = modelConfig;
  if (loaded === undefined) throw new TritonError('UNAVAILABLE', `model '${name}' is being unloaded`);
  const { ort, session, reshapes, batchAxes } = loaded;
  const rowsFirst = maxBatchSize > 0;
  const feeds: Record<string, OrtTensor> = {};
  for (const [input, tensor] of Object.entries(inputs)) {
    const axis = batchAxes[input];
    const given = axis === undefined ? reshaped(tensor, reshapes[input], rowsFirst) : rowsTo(tensor, axis);
    feeds[input] = toOrt(ort, given, input);
  }
  for (const input of Object.keys(loaded.constants)) feeds[input] = toOrt(ort, constantTensor(input, rows), input);
  const running = session.run(feeds, outputs);
  underway.add(running);
  try {
    const results = await running;
    return Object.fromEntries(
      outputs.map((output) => {
        const tensor = fromOrt(results[output] as OrtTensor);
        const axis = batchAxes[output];
        if (axis !== undefined) return [output, rowsFrom(tensor, axis)];
        const wire = reshapes[output] && modelConfig.outputs.find((spec) => spec.name === output)?.shape;
        return [output, reshaped(tensor, wire, rowsFirst)];
      }),
    );
  } catch (error) {
    throw new TritonError('INTERNAL', `onnxruntime failed on model '${name}': ${reasonOf(error)}`, { cause: error });
  } finally {
    underway.delete(running);
  }
}

function constantTensor(input: string, rows: number): Tensor {
  const { dtype, data, shape, isRow } = loaded!.constants[input]!;
  if (!isRow) return new Tensor(dtype, data, shape);
  const row = new Tensor(dtype, data, [1, ...shape]);
  return Tensor.concat(Array.from({ length: rows }, () => row));
}

/** Reshapes a tensor, after its rows if it has any. One open dimension takes the remaining elements. */
function reshaped(tensor: Tensor, shape: readonly number[] | undefined, rowsFirst: boolean): Tensor {
  if (shape === undefined) return tensor;
  const rows = rowsFirst ? tensor.shape.slice(0, 1) : [];
  const known = [...rows, ...shape].reduce((product, size) => (size === -1 ? product : product * size), 1);
  const elements = tensor.shape.reduce((product, size) => product * size, 1);
  return tensor.reshape([...rows, ...shape.map((size) => (size === -1 ? (known === 0 ? 0 : elements / known) : size))]);
}

function toOrt({ Tensor: OrtTensor }: Ort, tensor: Tensor, input: string): OrtTensor {
  const { dtype, data, shape } = tensor;
  // Where Node has Float16Array a tensor of onnxruntime's own holds one, which its native part reads as no bytes at all
  // (1.30). That part looks at the members only, and takes the bits on every version.
  if (dtype === 'float16') return { type: dtype, data, dims: shape, location: 'cpu' } as unknown as OrtTensor;
  if (dtype !== 'string' && dtype !== 'bytes') return new OrtTensor(dtype as 'float32', data as Float32Array, shape);
  const strings = tensor.strings();
  const cut = strings.findIndex((text) => text.includes('\0'));
  if (cut < 0) return new OrtTensor('string', strings, shape);
  throw invalidArg(`element ${cut} of input '${input}' has a character U+0000, at which onnxruntime-node would cut it`);
}

function fromOrt({ type, data, dims }: OrtTensor): Tensor {
  return new Tensor(type as 'float32', data as Float32Array, dims);
}

function checkRows(outputs: Tensors, rows: number, model: string): void {
  for (const [name, { shape }] of Object.entries(outputs)) {
    if (shape[0] === rows) continue;
    const got = `output '${name}' of model '${model}' has shape ${formatShape(shape)} for ${rows} row${rows === 1 ? '' : 's'}`;
    throw new TritonError(
      'INTERNAL',
      `${got}: its first dimension is no batch axis; serve the model with config: { batching: false }, or in config.pbtxt max_batch_size: 0 and all dims`,
    );
  }
}

/** The file may have changed since it was read, and the declaration since it was made. */
function checkNames(
  session: InferenceSession,
  { name, inputs, outputs, sequenceBatching }: CompleteModelConfig,
  constants: readonly string[],
): void {
  const { states = [], controls = [] } = sequenceBatching ?? {};
  const declared = [...[...inputs, ...states, ...controls].map((spec) => spec.name), ...constants].sort();
  const expected = [...session.inputNames].sort();
  if (declared.join('\n') !== expected.join('\n')) {
    throw invalidArg(
      `model '${name}' declares the inputs ${declared.join(', ')}, but its file has ${expected.join(', ')}`,
    );
  }
  const unknown = outputs.find((spec) => !session.outputNames.includes(spec.name));
  if (unknown === undefined) return;
  const known = session.outputNames.join(', ');
  throw invalidArg(`model '${name}' declares the output ${unknown.name}, but its file has ${known}`);
}

async function importOnnxruntime(modelName: string): Promise<Ort> {
  let ort: Ort;
  try {
    ort = await import('onnxruntime-node');
  } catch (error) {
    const isMissing = (error as { readonly code?: unknown }).code === 'ERR_MODULE_NOT_FOUND';
    const reason = isMissing
      ? `the package onnxruntime-node, which is not installed; run ONNXRUNTIME_NODE_INSTALL=skip npm install onnxruntime-node`
      : `onnxruntime-node, which does not load here: ${reasonOf(error)}`;
    throw new TritonError('UNAVAILABLE', `model '${modelName}' needs ${reason}`, { cause: error });
  }
  if (typeof ort.listSupportedBackends === 'function') return ort;
  throw new TritonError('UNAVAILABLE', `model '${modelName}' needs onnxruntime-node 1.20 or newer, got an older one`);
}

/** Until 1.24 onnxruntime reads the weights of a model from any file that the model names. */
function checkKeepsToFolder(modelName: string, { env }: Ort): void {
  const version = env.versions.node ?? '';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > 1 || minor >= 24) return;
  throw new TritonError(
    'UNSUPPORTED',
    `model '${modelName}' is a client's, which needs onnxruntime-node 1.24 or newer, got ${version}: older ones read any file as weights`,
  );
}

function missingProviders(modelName: string, missing: readonly string[], ort: Ort): TritonError {
  const names = missing.map((name) => `'${name}'`).join(', ');
  const are = missing.length === 1 ? 'provider' : 'providers';
  return new TritonError(
    'UNAVAILABLE',
    `model '${modelName}' wants the execution ${are} ${names}, but ${describeBackends(ort)}`,
  );
}

function describeBackends({ env, listSupportedBackends }: Ort): string {
  const backends = listSupportedBackends();
  const bundled = backends.filter((backend) => backend.bundled).map(({ name }) => name);
  const others = backends.filter((backend) => !backend.bundled).map(({ name }) => name);
  const more = others.length === 0 ? '' : `, and ${others.join(', ')} once their libraries are installed`;
  return `onnxruntime-node ${env.versions.node ?? ''} has ${bundled.join(', ')} on ${process.platform} ${process.arch}${more}`;
}

/** onnxruntime's messages run over several lines. */
function reasonOf(error: unknown): string {
  return TritonError.from(error)
    .message.trim()
    .replaceAll(/\s*\n\s*/g, ' ');
}
