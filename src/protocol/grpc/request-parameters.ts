// What parameters of a ModelInferRequest and of its tensors mean, with Triton's rules for their kinds
// (its gRPC infer handler: SetInferenceRequestMetadata, ParseSharedMemoryParams, ParseClassificationParams).

import { TritonError } from '../../errors.js';
import type { Parameters } from '../../model/parameters.js';
import type { SharedMemoryReference } from '../../model/shared-memory.js';
import { setParameter, type ParameterMap, type ParameterValue } from './infer-parameters.js';

/** The parameters of a request, those with a meaning of their own apart from those for the model. */
export interface RequestParameters {
  readonly parameters: Parameters | undefined;
  readonly priority: number;
  readonly timeoutMicroseconds: number;
  readonly emptyFinalResponse: boolean;
}

const EMPTY_FINAL_RESPONSE = 'triton_enable_empty_final_response';
const MAX_SEQUENCE_ID_BYTES = 128;

function refuse(message: string): never {
  throw new TritonError('INVALID_ARG', message);
}

function refuseKind(name: string, expected: string): never {
  refuse(`invalid value type for '${name}' parameter, expected ${expected}.`);
}

/** Sorts and checks the parameters of a request. */
export function readRequestParameters(entries: ParameterMap): RequestParameters {
  let parameters: Record<string, Parameters[string]> | undefined;
  let priority = 0;
  let timeoutMicroseconds = 0;
  let emptyFinalResponse = false;
  for (const [name, entry] of entries) {
    switch (name) {
      case 'sequence_id':
        checkSequenceId(entry);
        break;
      case 'sequence_start':
      case 'sequence_end':
        if (entry.kind !== 'bool') refuseKind(name, 'bool_param');
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
        timeoutMicroseconds = Number(BigInt.asUintN(64, BigInt(entry.value)));
        break;
      default:
        parameters ??= {};
        setParameter(parameters, name, readCustom(name, entry));
    }
  }
  return { parameters, priority, timeoutMicroseconds, emptyFinalResponse };
}

// Models without a sequence batcher, all that there are here, take the id and do nothing with it.
function checkSequenceId(entry: ParameterValue): void {
  if (entry.kind === 'int64') return;
  if (entry.kind !== 'string') refuseKind('sequence_id', 'int64_param or string_param');
  if (Buffer.byteLength(entry.value) > MAX_SEQUENCE_ID_BYTES) {
    throw new TritonError(
      'UNSUPPORTED',
      `string correlation ID cannot be longer than ${MAX_SEQUENCE_ID_BYTES} characters`,
    );
  }
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

/** Where an input or a requested output lies in shared memory; undefined when it does not. Other parameters mean nothing. */
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

/** What is wanted of a requested output beside its data. */
export interface OutputForm {
  /** Where it is to be written. */
  readonly sharedMemory: SharedMemoryReference | undefined;
  /** How many classes it is to become. */
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
