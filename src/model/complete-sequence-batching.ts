// The sequence batcher's settings checked, with Triton's rules and texts (core/src/model_config_utils.cc, ValidateModelConfig,
// and backend_model.cc for initial states).

import { checkMembers, expectBoolean, expectAtLeast, expectInteger, expectObject, textOf } from '../checks/check.js';
import { invalidArg } from '../errors.js';
import { type DataOf, type Dtype, parseDtype } from '../tensor/dtype.js';
import { encodeRaw } from '../tensor/raw.js';
import type {
  CompleteControl,
  CompleteSequenceBatching,
  CompleteSequenceState,
  CompleteTensorSpec,
} from './complete-model-config.js';
import { completeTensorSpecs } from './complete-tensor-specs.js';
import { declaredTensor } from './declared-tensor.js';
import type { SequenceBatching, SequenceControl, SequenceStateSpec } from './sequence-batching.js';
import type { TensorSpec } from './tensor-spec.js';

/** What else the model is. */
export interface SequenceModel {
  readonly inputs: readonly CompleteTensorSpec[];
  readonly outputs: readonly CompleteTensorSpec[];
  /** 0 without a batch axis. */
  readonly maxBatchSize: number;
  /** Names the model in messages. */
  readonly where: string;
}

const MEMBERS = [
  'strategy',
  'maxSequenceIdleMicroseconds',
  'controls',
  'state',
  'onEnd',
  'iterative',
  'maxCandidateSequences',
  'preferredBatchSize',
  'maxQueueDelayMicroseconds',
  'minimumSlotUtilization',
  'preserveOrdering',
  'maxLiveSequences',
  'emptySlots',
];
/** Options that mean something for one strategy alone. */
const OF_STRATEGY = {
  minimumSlotUtilization: 'direct',
  emptySlots: 'direct',
  maxCandidateSequences: 'oldest',
  preferredBatchSize: 'oldest',
  preserveOrdering: 'oldest',
} as const;

const DEFAULT_IDLE_MICROSECONDS = 1_000_000;
const DEFAULT_MAX_LIVE_SEQUENCES = 200_000;
const MAX_INT32 = 2_147_483_647;

/** Throws INVALID_ARG with the rule that was broken. */
export function completeSequenceBatching(given: SequenceBatching, model: SequenceModel): CompleteSequenceBatching {
  const { maxBatchSize, where } = model;
  checkMembers(given, MEMBERS, `config.sequenceBatching of ${where}`);
  const at = (member: string) => `config.sequenceBatching.${member} of ${where}`;
  const { strategy, state, onEnd } = given;
  if (strategy !== undefined && strategy !== 'direct' && strategy !== 'oldest')
    throw invalidArg(`${at('strategy')} must be 'direct' or 'oldest', got ${textOf(strategy)}`);
  for (const [member, only] of Object.entries(OF_STRATEGY)) {
    if (given[member as keyof typeof OF_STRATEGY] !== undefined && (strategy ?? 'direct') !== only)
      throw invalidArg(`${at(member)} is for strategy '${only}', got strategy '${strategy ?? 'direct'}'`);
  }
  const keepsObjects = typeof state === 'function';
  if (onEnd !== undefined && typeof onEnd !== 'function')
    throw invalidArg(`${at('onEnd')} must be a function, got ${textOf(onEnd)}`);
  if (onEnd !== undefined && !keepsObjects)
    throw invalidArg(`${at('onEnd')} is told of objects: it needs a state that is a function`);
  const microseconds = (member: 'maxSequenceIdleMicroseconds' | 'maxQueueDelayMicroseconds') =>
    expectAtLeast(given[member] ?? 0, 0, at(member));
  const controls = completeControls(given.controls ?? {}, model);
  return {
    strategy,
    maxSequenceIdleMicroseconds: microseconds('maxSequenceIdleMicroseconds') || DEFAULT_IDLE_MICROSECONDS,
    controls,
    states: keepsObjects ? [] : completeStates(state ?? {}, controls, model),
    keepsObjects,
    iterative: expectBoolean(given.iterative ?? false, at('iterative')),
    maxCandidateSequences: expectInteger(given.maxCandidateSequences ?? 0, 0, MAX_INT32, at('maxCandidateSequences')),
    preferredBatchSize: strategy === 'oldest' ? completePreferred(given.preferredBatchSize, maxBatchSize, where) : [],
    maxQueueDelayMicroseconds: microseconds('maxQueueDelayMicroseconds'),
    minimumSlotUtilization: completeUtilization(given.minimumSlotUtilization ?? 0, where),
    preserveOrdering: expectBoolean(given.preserveOrdering ?? false, at('preserveOrdering')),
    maxLiveSequences: expectInteger(
      given.maxLiveSequences ?? DEFAULT_MAX_LIVE_SEQUENCES,
      1,
      MAX_INT32,
      at('maxLiveSequences'),
    ),
    emptySlots: expectBoolean(given.emptySlots ?? false, at('emptySlots')),
  };
}

function completeUtilization(utilization: unknown, where: string): number {
  if (typeof utilization === 'number' && utilization >= 0 && utilization <= 1) return utilization;
  throw invalidArg(
    `sequence batching minimum slot utilization must be in range (0.0, 1.0] for ${where}, got ${textOf(utilization)}`,
  );
}

function completePreferred(given: unknown, maxBatchSize: number, where: string): readonly number[] {
  const sizes = given ?? [];
  if (!Array.isArray(sizes)) {
    throw invalidArg(`config.sequenceBatching.preferredBatchSize of ${where} must be a list, got ${textOf(sizes)}`);
  }
  for (const size of sizes as readonly unknown[]) {
    if (!Number.isInteger(size) || (size as number) <= 0)
      throw invalidArg(`sequence batching preferred batch size must be positive for ${where}, got ${textOf(size)}`);
    if ((size as number) > maxBatchSize) {
      throw invalidArg(
        `sequence batching preferred batch size must be <= max batch size for ${where}, got ${String(size)} with a maximum of ${maxBatchSize}`,
      );
    }
  }
  if (sizes.length > 0) return [...(sizes as readonly number[])];
  return maxBatchSize === 0 ? [] : [maxBatchSize];
}

const CONTROLS: readonly unknown[] = ['START', 'END', 'READY', 'CORRID'] satisfies SequenceControl['control'][];
const FLAG_DTYPES: readonly Dtype[] = ['int32', 'float32', 'bool'];
const ID_DTYPES: readonly Dtype[] = ['uint64', 'int64', 'uint32', 'int32', 'string'];

function completeControls(
  given: Readonly<Record<string, SequenceControl>>,
  { inputs, where }: SequenceModel,
): CompleteControl[] {
  expectObject(given, `config.sequenceBatching.controls of ${where}`);
  const complete = Object.entries(given).map(([name, control]) => completeControl(name, control, where));
  for (const { name, control } of complete) {
    if (inputs.some((input) => input.name === name))
      throw invalidArg(`sequence batching control tensor '${name}' is also an input of ${where}`);
    if (complete.some((other) => other.control === control && other.name !== name))
      throw invalidArg(`sequence batching specifies multiple CONTROL_SEQUENCE_${control} tensors for ${where}`);
  }
  return complete;
}

function completeControl(name: string, given: SequenceControl, where: string): CompleteControl {
  if (name === '') throw invalidArg(`sequence batching control tensor must have a name for ${where}`);
  const what = `config.sequenceBatching.controls.${name} of ${where}`;
  checkMembers(given, ['control', 'dtype', 'falseTrue'], what);
  const { control } = given;
  if (!CONTROLS.includes(control))
    throw invalidArg(`control of ${what} must be one of ${CONTROLS.join(', ')}, got ${textOf(control)}`);
  const isId = control === 'CORRID';
  const [spec] = completeTensorSpecs(
    { [name]: { dtype: given.dtype ?? (isId ? 'uint64' : 'int32'), shape: [1] } },
    'input',
    where,
  );
  const { dtype } = spec!;
  if (isId) {
    if ('falseTrue' in given && given.falseTrue !== undefined) {
      throw invalidArg(
        `sequence batching must not specify either 'int32_false_true', 'fp32_false_true' or 'bool_false_true' for CONTROL_SEQUENCE_CORRID for ${where}`,
      );
    }
    if (!ID_DTYPES.includes(dtype)) {
      throw invalidArg(
        `unexpected data type for control CONTROL_SEQUENCE_CORRID for ${where}. Allowed data types are TYPE_UINT64, TYPE_INT64, TYPE_UINT32, TYPE_INT32 and TYPE_STRING`,
      );
    }
    return { ...spec!, control, falseTrue: [0, 1] };
  }
  if (!FLAG_DTYPES.includes(dtype))
    throw invalidArg(`dtype of ${what} must be one of ${FLAG_DTYPES.join(', ')}, got ${dtype}`);
  const falseTrue: unknown = given.falseTrue ?? [0, 1];
  const member = `${dtype === 'float32' ? 'fp32' : dtype}_false_true`;
  if (!Array.isArray(falseTrue) || falseTrue.length !== 2) {
    throw invalidArg(
      `sequence batching control '${member}' must have exactly 2 entries for CONTROL_SEQUENCE_${control} for ${where}`,
    );
  }
  const numbers = (falseTrue as readonly unknown[]).map(Number);
  if (numbers.some((value) => Number.isNaN(value)) || (dtype === 'int32' && !numbers.every(Number.isInteger)))
    throw invalidArg(`falseTrue of ${what} must hold two values of ${dtype}, got ${falseTrue.map(textOf).join(', ')}`);
  return { ...spec!, control, falseTrue: [numbers[0]!, numbers[1]!] };
}

function completeStates(
  given: Readonly<Record<string, SequenceStateSpec>>,
  controls: readonly CompleteControl[],
  { inputs, outputs, where }: SequenceModel,
): CompleteSequenceState[] {
  expectObject(given, `config.sequenceBatching.state of ${where}`);
  const complete = Object.entries(given).map(([name, spec]) => completeState(name, spec, where));
  for (const state of complete) {
    const { name, output } = state;
    if ([...inputs, ...controls].some((input) => input.name === name))
      throw invalidArg(`state '${name}' of ${where} is named like an input`);
    const declared = outputs.find((each) => each.name === output);
    if (declared !== undefined && shownTensor(declared) !== shownTensor(state))
      throw invalidArg(
        `output '${output}' of state '${name}' of ${where} is declared among the outputs as ${shownTensor(declared)}: expected ${shownTensor(state)}`,
      );
    if (complete.some((other) => other.output === output && other.name !== name))
      throw invalidArg(`output '${output}' of ${where} gives more than one state`);
  }
  return complete;
}

function shownTensor({ dtype, shape }: CompleteTensorSpec): string {
  return `${dtype === 'bytes' ? 'string' : dtype} [${shape.join()}]`;
}

function completeState(name: string, given: SequenceStateSpec, where: string): CompleteSequenceState {
  const what = `config.sequenceBatching.state.${name} of ${where}`;
  checkMembers(given, ['dtype', 'shape', 'output', 'initial'], what);
  const { dtype, shape, output = name, initial } = given;
  if (typeof output !== 'string' || output === '')
    throw invalidArg(`output of ${what} must be the name of an output, got ${textOf(output)}`);
  const [spec] = completeTensorSpecs({ [name]: { dtype, shape } as TensorSpec }, 'input', where);
  return { ...spec!, output, initial: completeInitial(initial, spec!, what) };
}

/** Open dimensions begin with one element. */
function completeInitial(
  value: unknown,
  { dtype, shape }: CompleteTensorSpec,
  what: string,
): CompleteSequenceState['initial'] {
  const tensor = declaredTensor(value, { dtype, shape, what: `initial of ${what}` });
  return {
    shape: [...tensor.shape],
    bytes: Uint8Array.from(encodeRaw(parseDtype(dtype), tensor.data as DataOf[Dtype])),
  };
}
