// The arguments of an ONNX model's instance: plain data that crosses into its thread.

import { invalidArg } from '../errors.js';
import { checkMembers, expectInteger } from '../checks/check.js';
import type { Tensor } from '../tensor/tensor.js';

/** A provider by its name in onnxruntime, or with options of its own: `{ name: 'cuda', deviceId: 1 }`. */
export type OnnxExecutionProvider = string | { readonly name: string; readonly [option: string]: unknown };

const OPTIMIZATION_LEVELS = ['disabled', 'basic', 'extended', 'layout', 'all'] as const;
export type OnnxOptimizationLevel = (typeof OPTIMIZATION_LEVELS)[number];

/** How an instance runs the model. */
export interface OnnxInstanceOptions {
  /** In order of preference. One that is not there is a failed load. Default `['cpu']`. */
  readonly executionProviders?: readonly OnnxExecutionProvider[];
  /**
   * Threads that compute one operator, onnxruntime's `intraOpNumThreads`. Default: onnxruntime's own for a single
   * instance; the machine's cores shared out among several.
   */
  readonly threads?: number;
  /** More than 1 runs independent operators of the model side by side. Default 1. */
  readonly interOpNumThreads?: number;
  /** Default `'all'`. */
  readonly graphOptimizationLevel?: OnnxOptimizationLevel;
  /** Any other option of onnxruntime's `InferenceSession.create`. */
  readonly sessionOptions?: Readonly<Record<string, unknown>>;
}

/** The entry of `args` that an instance's `setup` gets. */
export interface OnnxInstanceArgs {
  /** Of the model's file, absolute: onnxruntime finds weights that lie beside it. */
  readonly path: string;
  readonly session: OnnxSessionOptions;
  /** Whether a client sent the file, which must not name other files of the server as its weights. */
  readonly isGiven?: boolean;
  /** The shapes, without the batch axis, that the file has for tensors which clients see in others; by their names. */
  readonly reshapes?: Readonly<Record<string, readonly number[]>>;
  /** The dimension of the batch axis in the file, of the states that have it behind others; by their inputs and outputs. */
  readonly batchAxes: Readonly<Record<string, number>>;
  /** Inputs that are the same in every run, by their names. */
  readonly constants: Readonly<Record<string, OnnxConstant>>;
}

export interface OnnxConstant extends Pick<Tensor, 'dtype' | 'data' | 'shape'> {
  /** Each row of a batch gets one; else all rows share it. */
  readonly isRow: boolean;
}

/** As onnxruntime's InferenceSession.SessionOptions has it. */
export type OnnxSessionOptions = Readonly<Record<string, unknown>> & {
  readonly executionProviders: readonly OnnxExecutionProvider[];
};

export const INSTANCE_MEMBERS = [
  'executionProviders',
  'threads',
  'interOpNumThreads',
  'graphOptimizationLevel',
  'sessionOptions',
];

const MAX_THREADS = 1024;
/** Options of onnxruntime's that have one of ours. */
const OWN_OPTIONS: Readonly<Record<string, string>> = {
  executionProviders: 'executionProviders',
  intraOpNumThreads: 'threads',
  interOpNumThreads: 'interOpNumThreads',
  graphOptimizationLevel: 'graphOptimizationLevel',
};

/** Checks the options and puts them in onnxruntime's words. Throws INVALID_ARG. */
export function completeSessionOptions(
  options: OnnxInstanceOptions,
  defaultThreads: number | undefined,
  what: string,
): OnnxSessionOptions {
  const {
    executionProviders = ['cpu'],
    threads = defaultThreads,
    interOpNumThreads,
    graphOptimizationLevel = 'all',
  } = options;
  const { sessionOptions = {} } = options;
  if (!OPTIMIZATION_LEVELS.includes(graphOptimizationLevel)) {
    const expected = OPTIMIZATION_LEVELS.join(', ');
    throw invalidArg(
      `graphOptimizationLevel of ${what} must be one of ${expected}, got ${String(graphOptimizationLevel)}`,
    );
  }
  if (typeof sessionOptions !== 'object' || sessionOptions === null) {
    throw invalidArg(`sessionOptions of ${what} must be an object, got ${String(sessionOptions)}`);
  }
  const own = Object.keys(sessionOptions).find((option) => Object.hasOwn(OWN_OPTIONS, option));
  if (own !== undefined) {
    throw invalidArg(`sessionOptions of ${what} has ${own}; give it as the option ${OWN_OPTIONS[own]}`);
  }
  return {
    graphOptimizationLevel,
    ...(threads === undefined
      ? {}
      : { intraOpNumThreads: expectInteger(threads, 1, MAX_THREADS, `threads of ${what}`) }),
    ...(interOpNumThreads === undefined
      ? {}
      : interOpOptions(expectInteger(interOpNumThreads, 1, MAX_THREADS, `interOpNumThreads of ${what}`))),
    executionProviders: checkProviders(executionProviders, what),
    ...sessionOptions,
  };
}

// onnxruntime heeds the number only when it runs operators side by side.
function interOpOptions(interOpNumThreads: number) {
  return { interOpNumThreads, executionMode: interOpNumThreads > 1 ? 'parallel' : 'sequential' };
}

function checkProviders(providers: unknown, what: string): readonly OnnxExecutionProvider[] {
  const isProvider = (value: unknown): boolean =>
    typeof value === 'string' ? value !== '' : typeof (value as { readonly name?: unknown } | null)?.name === 'string';
  if (Array.isArray(providers) && providers.length > 0 && providers.every(isProvider))
    return providers as OnnxExecutionProvider[];
  const expected = "a list of names or objects with a name, such as ['cuda', 'cpu']";
  throw invalidArg(`executionProviders of ${what} must be ${expected}, got ${JSON.stringify(providers)}`);
}

/** Checks one instance's entry of `args`. */
export function checkInstanceOptions(options: OnnxInstanceOptions, what: string): void {
  checkMembers(options, INSTANCE_MEMBERS, what);
}

/** The name of a provider, whichever form it was given in. */
export function providerName(provider: OnnxExecutionProvider): string {
  return typeof provider === 'string' ? provider : provider.name;
}
