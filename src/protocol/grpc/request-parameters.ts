// Reads the parameters of a ModelInferRequest and of its tensors, with Triton's rules for their kinds (its gRPC infer handler:
// SetInferenceRequestMetadata, ParseSharedMemoryParams, ParseClassificationParams).

import { invalidArg } from '../../errors.js';
import type { Parameters } from '../../model/parameters.js';
import type { RequestSequence } from '../../model/request-sequence.js';
import type { SharedMemoryReference } from '../../model/shared-memory.js';
import { SEQUENCE_END, SEQUENCE_ID, SEQUENCE_START, SequenceFields } from '../sequence-parameters.js';
import { type ParameterMap, type ParameterValue, setParameter } from './infer-parameters.js';

/** The parameters of a request. Parameters for the server are separate from parameters for the model. */
export interface RequestParameters {
  readonly parameters: Parameters | undefined;
  readonly priority: number;
  readonly timeoutMicroseconds: number;
  readonly sequence: RequestSequence | undefined;
  readonly emptyFinalResponse: boolean;
}

const EMPTY_FINAL_RESPONSE = 'triton_enable_empty_final_response';

function refuse(message: string): never {
  throw invalidArg(message);
}

function refuseKind(name: string, expected: string): never {
  refuse(`invalid value type for '${name}' parameter, expected ${expected}.`);
}

/** Sorts and checks the parameters of a request. */
export function readRequestParameters(entries: ParameterMap): RequestParameters {
  let parameters: Record<string, Parameters[string]> | undefined;
  let priority = 0;
  let timeoutMicroseconds = 0;
  let fields: SequenceFields | undefined;
  let emptyFinalResponse = false;
  for (const [name, entry] of entries) {
    switch (name) {
      case SEQUENCE_ID:
        (fields ??= new SequenceFields()).id = readSequenceId(entry);
        break;
      case SEQUENCE_START:
        if (entry.kind !== 'bool') refuseKind(name, 'bool_param');
        (fields ??= new SequenceFields()).start = entry.value;
        break;
      case SEQUENCE_END:
        if (entry.kind !== 'bool') refuseKind(name, 'bool_param');
        (fields ??= new SequenceFields()).end = entry.value;
        break;
      case EMPTY_FINAL_RESPONSE:
        if (entry.kind !== 'bool') refuseKind(name, 'bool_param');
        emptyFinalResponse = entry.value;
        break;
      case 'priority':
        priority = readPriority(entry);
        break;
      case 'timeout':
        if (entry.kind !== 'int64') refuseKind(name, 'int64_param');
        // A negative timeout is a very long one: Triton reads the same bits as an unsigned number.
        timeoutMicroseconds = Number(asUnsigned(entry.value));
        break;
      default:
        parameters ??= {};
        setParameter(parameters, name, readCustom(name, entry));
    }
  }
  return { parameters, priority, timeoutMicroseconds, sequence: fields?.sequence, emptyFinalResponse };
}

function readSequenceId(entry: ParameterValue): RequestSequence['id'] {
  if (entry.kind === 'string') return entry.value;
  if (entry.kind !== 'int64') refuseKind(SEQUENCE_ID, 'int64_param or string_param');
  // The wire has signed numbers only, but ids are unsigned, as are timeouts.
  return asUnsigned(entry.value);
}

/** The same bits read as an unsigned number. */
function asUnsigned(value: number | bigint): number | bigint {
  if (value >= 0) return value;
  return BigInt.asUintN(64, BigInt(value));
}

function readPriority(entry: ParameterValue): number {
  if (entry.kind !== 'int64' && entry.kind !== 'uint64') refuseKind('priority', 'int64_param or uint64_param');
  if (entry.value < 0) refuse(`invalid value for 'priority', expected value >= 0.`);
  return Number(entry.value);
}

function readCustom(name: string, entry: ParameterValue): Parameters[string] {
  if (name.startsWith('triton_')) {
    refuse(
      `parameter keys starting with 'triton_' are reserved for Triton usage. Only the following keys starting with 'triton_' are allowed: ${EMPTY_FINAL_RESPONSE}`,
    );
  }
  if (entry.kind === 'unset' || entry.kind === 'uint64') refuseKind(name, 'int64_param, bool_param, or string_param');
  return entry.value;
}

/** The place of an input or a requested output in shared memory, if it has one. Other parameters are ignored. */
export function readSharedMemory(entries: ParameterMap, tensor: string): SharedMemoryReference | undefined {
  const region = entries.get('shared_memory_region');
  if (region !== undefined && region.kind !== 'string')
    refuseSharedMemoryKind('shared_memory_region', tensor, 'string_param');
  const numberOf = (name: string): number | bigint | undefined => {
    const entry = entries.get(name);
    if (entry === undefined) return undefined;
    if (region === undefined) {
      refuse(`'${name}' can not be specified without 'shared_memory_region' parameter for tensor '${tensor}'`);
    }
    if (entry.kind !== 'int64') refuseSharedMemoryKind(name, tensor, 'int64_param');
    return entry.value;
  };
  const offset = numberOf('shared_memory_offset') ?? 0;
  const byteSize = numberOf('shared_memory_byte_size');
  if (region === undefined) return undefined;
  if (byteSize === undefined) {
    refuse(
      `'shared_memory_byte_size' must be specified along with 'shared_memory_region' parameter for tensor '${tensor}'`,
    );
  }
  return { region: region.value, offset, byteSize };
}

/** The form that the client wants for a requested output. */
export interface OutputForm {
  /** Where the output should be written. */
  readonly sharedMemory: SharedMemoryReference | undefined;
  /** How many classes the output should become. */
  readonly classes: number | bigint | undefined;
}

export function readOutputForm(entries: ParameterMap, tensor: string): OutputForm {
  const sharedMemory = readSharedMemory(entries, tensor);
  const classification = entries.get('classification');
  if (classification === undefined) return { sharedMemory, classes: undefined };
  if (classification.kind !== 'int64')
    refuse(`invalid value type for 'classification' parameter, expected int64_param`);
  if (classification.value <= 0) refuse(`invalid value for 'classification' parameter, expected >= 0`);
  if (sharedMemory !== undefined) refuse(`output can't set both 'shared_memory_region' and 'classification'`);
  return { sharedMemory, classes: classification.value };
}

function refuseSharedMemoryKind(name: string, tensor: string, expected: string): never {
  refuse(`invalid value type for '${name}' parameter for tensor '${tensor}', expected ${expected}.`);
}
