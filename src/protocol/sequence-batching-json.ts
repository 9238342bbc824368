// The ModelSequenceBatching message: shows a model's sequence batcher as in the model configuration, and reads options from such
// a message. Refusals are Triton's (core/src/model_config_utils.cc, ValidateModelConfig).

import { invalidArg } from '../errors.js';
import type {
  CompleteControl,
  CompleteSequenceBatching,
  CompleteSequenceState,
} from '../model/complete-model-config.js';
import type { SequenceBatching, SequenceControl, SequenceStateSpec } from '../model/sequence-batching.js';
import { configTypeOf, dtypeOfConfig } from './model-signature.js';

type JsonObject = Readonly<Record<string, unknown>>;

export interface ControlJson {
  readonly kind: string;
  readonly int32_false_true: readonly number[];
  readonly fp32_false_true: readonly number[];
  readonly bool_false_true: readonly boolean[];
  readonly data_type: string;
}

export interface InitialStateJson {
  readonly name: string;
  readonly data_type: string;
  readonly dims: readonly string[];
  readonly zero_data?: boolean;
  readonly data_file?: string;
}

export interface StateJson {
  readonly input_name: string;
  readonly output_name: string;
  readonly data_type: string;
  readonly dims: readonly string[];
  readonly initial_state: readonly InitialStateJson[];
  readonly use_same_buffer_for_input_output: boolean;
  readonly use_growable_memory: boolean;
}

export interface SequenceBatchingJson {
  readonly max_sequence_idle_microseconds: string;
  readonly control_input: readonly { readonly name: string; readonly control: readonly ControlJson[] }[];
  readonly state: readonly StateJson[];
  readonly iterative_sequence: boolean;
  readonly direct?: { readonly max_queue_delay_microseconds: string; readonly minimum_slot_utilization: number };
  readonly oldest?: {
    readonly max_candidate_sequences: number;
    readonly preferred_batch_size: readonly number[];
    readonly max_queue_delay_microseconds: string;
    readonly preserve_ordering: boolean;
  };
}

/** `shown`: adds a configuration file's details of a state. */
export function sequenceBatchingJson(
  batching: CompleteSequenceBatching,
  shown: (name: string) => JsonObject | undefined,
): JsonObject {
  const { strategy, maxQueueDelayMicroseconds: delay } = batching;
  return {
    ...(strategy === 'direct' && {
      direct: {
        max_queue_delay_microseconds: delay,
        minimum_slot_utilization: shortestFloat(batching.minimumSlotUtilization),
      },
    }),
    ...(strategy === 'oldest' && {
      oldest: {
        max_candidate_sequences: batching.maxCandidateSequences,
        preferred_batch_size: batching.preferredBatchSize,
        max_queue_delay_microseconds: delay,
        preserve_ordering: batching.preserveOrdering,
      },
    }),
    max_sequence_idle_microseconds: batching.maxSequenceIdleMicroseconds,
    control_input: batching.controls.map((control) => ({ name: control.name, control: [controlJson(control)] })),
    state: batching.states.map((state) => ({ ...stateJson(state), ...shown(state.name) })),
    iterative_sequence: batching.iterative,
  };
}

function controlJson({ control, dtype, datatype, falseTrue }: CompleteControl): JsonObject {
  const isId = control === 'CORRID';
  return {
    kind: `CONTROL_SEQUENCE_${control}`,
    int32_false_true: !isId && dtype === 'int32' ? falseTrue : [],
    fp32_false_true: dtype === 'float32' ? falseTrue.map(shortestFloat) : [],
    bool_false_true: dtype === 'bool' ? falseTrue.map((value) => value !== 0) : [],
    data_type: isId ? configTypeOf(datatype) : 'TYPE_INVALID',
  };
}

/** The shortest number that is the same one in 32 bits, as protobuf writes a float. */
function shortestFloat(value: number): number {
  const float = Math.fround(value);
  for (let digits = 6; digits < 9; digits++) {
    const shorter = Number(float.toPrecision(digits));
    if (Math.fround(shorter) === float) return shorter;
  }
  return Number(float.toPrecision(9));
}

function stateJson({ name, output, datatype, shape }: CompleteSequenceState): JsonObject {
  return {
    input_name: name,
    output_name: output,
    data_type: configTypeOf(datatype),
    dims: shape,
    initial_state: [],
    use_same_buffer_for_input_output: false,
    use_growable_memory: false,
  };
}

/** A configuration file's details of a state, beyond its tensor, as the model configuration shows them. */
export function shownState({ initial_state: initial, ...state }: StateJson): JsonObject {
  return {
    initial_state: initial.map(({ data_type: type, dims, name, ...source }) => ({
      data_type: type,
      dims,
      name,
      ...source,
    })),
    use_same_buffer_for_input_output: state.use_same_buffer_for_input_output,
    use_growable_memory: state.use_growable_memory,
  };
}

/** Reads the initial value of a state. For a client's configuration it always refuses. */
export type ReadInitialState = (initial: InitialStateJson, state: string) => SequenceStateSpec['initial'];

/** The options in a message. `model` is named in refusals. Throws INVALID_ARG. */
export function sequenceBatchingOf(
  json: SequenceBatchingJson,
  model: string,
  readInitial: ReadInitialState,
): SequenceBatching {
  const { direct, oldest } = json;
  return {
    ...(direct && {
      strategy: 'direct',
      maxQueueDelayMicroseconds: microseconds(direct.max_queue_delay_microseconds),
      minimumSlotUtilization: direct.minimum_slot_utilization,
    }),
    ...(oldest && {
      strategy: 'oldest',
      maxCandidateSequences: oldest.max_candidate_sequences,
      preferredBatchSize: oldest.preferred_batch_size,
      maxQueueDelayMicroseconds: microseconds(oldest.max_queue_delay_microseconds),
      preserveOrdering: oldest.preserve_ordering,
    }),
    maxSequenceIdleMicroseconds: microseconds(json.max_sequence_idle_microseconds),
    controls: controlsOf(json, model),
    state: statesOf(json, model, readInitial),
    iterative: json.iterative_sequence,
  };
}

/** Numbers beyond 2^53 microseconds, some 285 years, count as the largest exact one. */
function microseconds(text: string): number {
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
}

function controlsOf({ control_input: inputs }: SequenceBatchingJson, model: string) {
  const controls: Record<string, SequenceControl> = {};
  for (const { name, control } of inputs) {
    if (name === '') throw invalidArg(`sequence batching control tensor must have a name for ${model}`);
    if (Object.hasOwn(controls, name)) {
      throw invalidArg(
        `sequence batching control tensor '${name}' is specified for multiple control kinds for ${model}`,
      );
    }
    const [first, second] = control;
    if (first === undefined) throw invalidArg(`sequence batching control tensor '${name}' has no control for ${model}`);
    if (second !== undefined)
      throw invalidArg(
        `sequence batching control tensor '${name}' is specified for multiple control kinds for ${model}`,
      );
    controls[name] = controlOf(first, model);
  }
  return controls;
}

function controlOf(json: ControlJson, model: string): SequenceControl {
  const control = json.kind.replace('CONTROL_SEQUENCE_', '') as SequenceControl['control'];
  const { int32_false_true: int32, fp32_false_true: fp32, bool_false_true: bool, data_type: type } = json;
  const forms = [
    ['int32', 'int32_false_true', int32],
    ['float32', 'fp32_false_true', fp32],
    ['bool', 'bool_false_true', bool],
  ] as const;
  const given = forms.filter(([, , values]) => values.length > 0);
  const kind = `${json.kind} for ${model}`;
  if (control === 'CORRID') {
    if (given.length > 0)
      throw invalidArg(
        `sequence batching must not specify either 'int32_false_true', 'fp32_false_true' or 'bool_false_true' for ${kind}`,
      );
    const dtype = type === 'TYPE_STRING' ? 'string' : type === 'TYPE_INVALID' ? undefined : dtypeOfConfig(type);
    if (dtype === undefined)
      throw invalidArg(
        `unexpected data type for control ${kind}. Allowed data types are TYPE_UINT64, TYPE_INT64, TYPE_UINT32, TYPE_INT32 and TYPE_STRING`,
      );
    return { control, dtype: dtype as 'uint64' };
  }
  if (given.length > 1)
    throw invalidArg(
      `sequence batching specifies more than one from 'int32_false_true', 'fp32_false_true' and 'bool_false_true' for ${kind}`,
    );
  const [form] = given;
  if (form === undefined)
    throw invalidArg(
      `sequence batching must specify either 'int32_false_true', 'fp32_false_true' or 'bool_false_true' for ${kind}`,
    );
  const [dtype, member, values] = form;
  if (values.length !== 2)
    throw invalidArg(`sequence batching control '${member}' must have exactly 2 entries for ${kind}`);
  return { control, dtype, falseTrue: [values[0]!, values[1]!] };
}

function statesOf({ state: states }: SequenceBatchingJson, model: string, readInitial: ReadInitialState) {
  const own: Record<string, SequenceStateSpec> = {};
  for (const json of states) {
    const { input_name: name, output_name: output, initial_state: initials } = json;
    if (name === '' || output === '') throw invalidArg(`a state of ${model} must have an input and an output name`);
    if (Object.hasOwn(own, name)) throw invalidArg(`State input name '${name}' specified more than once.`);
    if (json.use_growable_memory)
      throw invalidArg(`'use_growable_memory' of state '${name}' can only work with KIND_GPU model instances`);
    if (json.data_type === 'TYPE_INVALID') throw invalidArg(`state '${name}' of ${model} must have a data_type`);
    const [initial] = initials;
    if (initials.length > 1)
      throw invalidArg(
        `initial_state field for state input '${name}' must contain exactly one or zero element. Found '${initials.length}' elements.`,
      );
    if (initial !== undefined) checkInitial(json, initial);
    own[name] = {
      dtype: dtypeOfConfig(json.data_type),
      shape: json.dims.map(Number),
      output,
      ...(initial !== undefined && { initial: readInitial(initial, name)! }),
    };
  }
  return own;
}

function checkInitial({ input_name: name, data_type: type, dims }: StateJson, initial: InitialStateJson): void {
  if (initial.name === '')
    throw invalidArg(`Field 'name' must be set when using initial_state for state input '${name}'.`);
  if (initial.data_type !== type)
    throw invalidArg(
      `The data type used for 'initial_state' field of state '${name}' does not match the state data type.`,
    );
  if (initial.dims.length !== dims.length)
    throw invalidArg(
      `Number of dimensions in 'initial_state' doesn't match the size of 'state' dimensions for state input '${name}'. ${initial.dims.length} != ${dims.length}`,
    );
  if (initial.dims.some((dim) => Number(dim) < 0))
    throw invalidArg(`'initial_state' field for state input name '${name}' contains variable dimensions.`);
  const at = dims.findIndex((dim, index) => dim !== '-1' && dim !== initial.dims[index]);
  if (at >= 0)
    throw invalidArg(
      `'initial_state' dim for input name '${name}' doesn't match 'state' dim description. ${initial.dims[at]} != ${dims[at]}`,
    );
  // As Triton writes it, without the gap.
  if (initial.zero_data === undefined && initial.data_file === undefined)
    throw invalidArg(`initial_state setting expects state'${name}' to have state_data set: zero_data or data_file`);
}
