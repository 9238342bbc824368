// A model from an ONNX file: its declaration is read from the file, onnxruntime-node runs it in instance threads,
// because its `run` blocks the thread that calls it. This module needs no onnxruntime.

import { availableParallelism } from 'node:os';
import { basename, extname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { invalidArg } from '../errors.js';
import { checkMembers, expectInteger, expectObject } from '../checks/check.js';
import { instanceGroup, type InstanceGroup, type ThreadResourceLimits } from '../model/instance-group.js';
import type { DeclaredValue } from '../model/declared-tensor.js';
import type { ModelConfig } from '../model/model-config.js';
import type { TensorSpec } from '../model/tensor-spec.js';
import { completeSequences, innerArgs, innerTensors, type OnnxState } from './onnx-inner-tensors.js';
import {
  checkInstanceOptions,
  completeSessionOptions,
  INSTANCE_MEMBERS,
  type OnnxInstanceArgs,
  type OnnxInstanceOptions,
} from './onnx-session.js';
import { readOnnxSignature } from './onnx-signature.js';
import { onnxSpecs } from './onnx-specs.js';

export interface OnnxOptions extends OnnxInstanceOptions {
  /** Default: the file's name without its extension. */
  readonly modelName?: string;
  /** Instances, each a thread with a session of its own. Default: as many as `args`, or 1. */
  readonly count?: number;
  /** One entry per instance, whose options win over those here: a device for each, say. */
  readonly args?: readonly OnnxInstanceOptions[];
  /** Names of the outputs to serve, in this order. Default: all. */
  readonly outputs?: readonly string[];
  /** Shapes in place of the file's, by name and with the first dimension: for what the file leaves open. */
  readonly shapes?: Readonly<Record<string, readonly number[]>>;
  /**
   * Inputs that the server keeps for each sequence, with the outputs that give their next values: `{ h: 'hn' }`. Clients neither
   * send nor see them. Without `config.sequenceBatching.strategy` it is `oldest`, with any number of sequences under way.
   */
  readonly state?: Readonly<Record<string, string | OnnxState>>;
  /** Inputs that have the same value in every run, and that clients do not see: `{ sr: 16_000 }`. Without the batch axis. */
  readonly constants?: Readonly<Record<string, DeclaredValue>>;
  /**
   * As in `bind`. `batching` is read from the file: true when the first dimension of every input and output is open. A state may
   * have its batch axis elsewhere: it is the first open dimension.
   */
  readonly config?: ModelConfig<false>;
  /** Environment variables for the threads, in addition to this process's own. */
  readonly env?: Readonly<Record<string, string>>;
  /** Limits of the threads' JavaScript memory; the session's own is not counted. */
  readonly resourceLimits?: ThreadResourceLimits;
}

/** What `bind` takes. */
export interface OnnxModel {
  readonly modelName: string;
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
  readonly config: ModelConfig<false>;
  readonly inferFunc: InstanceGroup;
}

const MEMBERS = [
  'modelName',
  'count',
  'args',
  'outputs',
  'shapes',
  'state',
  'constants',
  'config',
  'env',
  'resourceLimits',
  ...INSTANCE_MEMBERS,
];

/**
 * Makes a model from an ONNX file: names, dtypes, shapes and batching are the file's. onnxruntime-node, which must be
 * installed beside this package, runs it in threads of its own. Throws INVALID_ARG for a file that is missing,
 * broken, or has inputs or outputs that cannot be served.
 *
 * @example
 * triton.bind(onnx('resnet50.onnx', { count: 2, config: { maxBatchSize: 16 } }));
 */
export function onnx(file: string | URL, options: OnnxOptions = {}): OnnxModel {
  const path = pathOf(file);
  const what = `onnx('${basename(path)}')`;
  checkMembers(options, MEMBERS, what);
  const {
    config = {},
    shapes = {},
    outputs,
    args,
    env,
    resourceLimits,
    modelName = basename(path, extname(path)),
  } = options;
  const count = expectInteger(options.count ?? Math.max(1, args?.length ?? 1), 1, 1024, `count of ${what}`);
  if (args !== undefined && args.length !== count) {
    throw invalidArg(`args of ${what} has ${args.length} entries for ${count} instances, expected one per instance`);
  }
  const sessions = Array.from({ length: count }, (_, instance) => {
    const own = args?.[instance] ?? {};
    checkInstanceOptions(own, `args[${instance}] of ${what}`);
    return completeSessionOptions({ ...options, ...own }, defaultThreads(count), what);
  });
  expectObject(config, `config of ${what}`);
  const { batching, maxBatchSize, decoupled } = config as ModelConfig;
  if (decoupled === true) throw invalidArg(`config.decoupled of ${what} is true, but an ONNX model gives one answer`);
  const given = { state: options.state, constants: options.constants, sequenceBatching: config.sequenceBatching };
  const inner = innerTensors(given, what);
  const specs = onnxSpecs(readOnnxSignature(path), { path, outputs, shapes, batching, maxBatchSize, inner });
  const sequenceBatching = completeSequences(given, specs, path);
  const own = innerArgs(given, specs, path);
  const instances = sessions.map((session): OnnxInstanceArgs => ({ path, session, ...own }));
  return {
    modelName,
    inputs: specs.inputs,
    outputs: specs.outputs,
    // One request that onnxruntime refuses, a token beyond the vocabulary say, must not fail the others of its batch.
    // Empty slots cannot run alone, and iterative requests may not run twice.
    config: {
      isolateFailures: sequenceBatching?.emptySlots !== true && sequenceBatching?.iterative !== true,
      ...config,
      batching: specs.batching,
      ...(sequenceBatching && { sequenceBatching }),
    },
    inferFunc: instanceGroup(new URL('./onnx-instance.js', import.meta.url), {
      args: instances,
      ...(env === undefined ? {} : { env }),
      ...(resourceLimits === undefined ? {} : { resourceLimits }),
    }),
  };
}

function pathOf(file: string | URL): string {
  if (typeof file === 'string' && file !== '' && !file.startsWith('file:')) return resolve(file);
  try {
    return fileURLToPath(file);
  } catch (error) {
    const got = typeof file === 'string' ? JSON.stringify(file) : String(file);
    throw invalidArg(`onnx takes the path of a file, or a file: URL, got ${got}`, { cause: error });
  }
}

// Every session makes a pool of threads; several pools as large as the machine would only get in each other's way.
function defaultThreads(count: number): number | undefined {
  return count === 1 ? undefined : Math.max(1, Math.floor(availableParallelism() / count));
}
