// Checks the options of one inference. Unknown options are refused, never ignored.

import { TritonError } from '../errors.js';
import { checkMembers, expectBoolean, expectAtLeast, expectInteger, expectObject } from '../checks/check.js';
import { isParameter, MAX_UINT64 } from '../model/is-parameter.js';
import type { Parameters } from '../model/parameters.js';
import type { RequestSequence } from '../model/request-sequence.js';
import { SEQUENCE_PARAMETERS, SequenceFields } from '../protocol/sequence-parameters.js';
import {
  CALL_MEMBERS,
  callLimits,
  type CallLimits,
  type CallOptions,
  type CompleteClientOptions,
} from './client-options.js';
import { describe, expectText, expectUnicode } from './option-values.js';

/** The sequence that a request belongs to. */
export interface SequenceOptions {
  /** The id that all requests of the sequence share: a text of 1 to 128 bytes, or an integer from 1 to 2^64 - 1. */
  readonly id: string | number | bigint;
  /** The request is the first. Default false. */
  readonly start?: boolean;
  /** The request is the last. Default false. */
  readonly end?: boolean;
}

export interface InferOptions<Output extends string = string, Classified extends string = string> extends CallOptions {
  /** The callable finds these in `request.parameters`, and also Triton's own `priority` and `timeout`. */
  readonly parameters?: Parameters;
  /** The callable finds this in `request.id`. */
  readonly requestId?: string;
  /** The callable finds this in `request.sequence`. */
  readonly sequence?: SequenceOptions;
  /** The outputs to compute and send. Default: all. */
  readonly outputs?: readonly Output[];
  /** How many of the best values to get of an output, as texts `value:index` or `value:index:label`, in place of its tensor. */
  readonly classes?: { readonly [Name in Classified]: number };
  /** The level in the server's queue: 1 is the highest. Default: the model's own. */
  readonly priority?: number;
  /** How long the request may wait in the server's queue, in microseconds, if the model lets clients set this. */
  readonly serverTimeoutMicroseconds?: number;
}

/** Options of `inferBatch`. */
export interface BatchInferOptions<
  Output extends string = string,
  Classified extends string = string,
> extends InferOptions<Output, Classified> {
  /** Whether a batch with more rows than the model takes is sent in several requests, and the answers joined. Default false. */
  readonly chunk?: boolean;
}

const SEQUENCE_MEMBERS = ['id', 'start', 'end'];
const INFER_MEMBERS = [
  ...CALL_MEMBERS,
  'parameters',
  'requestId',
  'sequence',
  'outputs',
  'classes',
  'priority',
  'serverTimeoutMicroseconds',
];
const BATCH_MEMBERS = [...INFER_MEMBERS, 'chunk'];

export interface CompleteInferOptions extends CallLimits {
  readonly parameters: Parameters | undefined;
  readonly requestId: string;
  readonly sequence: RequestSequence | undefined;
  readonly chunk: boolean;
  readonly outputs: readonly string[];
  readonly classes: ReadonlyMap<string, number> | undefined;
  /** 0: the model's own. */
  readonly priority: number;
  /** 0: none. */
  readonly timeoutMicroseconds: number;
}

/** Only batches with a single answer have the option `chunk`. Throws INVALID_ARG. */
export function completeInferOptions(
  options: BatchInferOptions,
  client: CompleteClientOptions,
  kind: 'sample' | 'batch' | 'stream',
): CompleteInferOptions {
  checkMembers(options, kind === 'batch' ? BATCH_MEMBERS : INFER_MEMBERS, 'options of an inference');
  const chunk = expectBoolean(options.chunk ?? false, 'chunk');
  if (chunk && options.sequence !== undefined)
    throw new TritonError('INVALID_ARG', 'chunk and sequence exclude each other: a request of a sequence is one');
  const { parameters, requestId, sequence, outputs, classes, priority, serverTimeoutMicroseconds } = options;
  refuseTwice(parameters, 'priority', priority, 'priority');
  refuseTwice(parameters, 'timeout', serverTimeoutMicroseconds, 'serverTimeoutMicroseconds');
  return {
    ...callLimits(options, client),
    chunk,
    parameters: checkParameters(parameters),
    requestId: expectUnicode(requestId ?? '', 'requestId'),
    sequence: sequence === undefined ? undefined : checkSequence(sequence, parameters),
    outputs: checkOutputs(outputs),
    classes: checkClasses(classes),
    priority: priority === undefined ? 0 : expectInteger(priority, 1, MAX_UINT32, 'priority'),
    timeoutMicroseconds:
      serverTimeoutMicroseconds === undefined
        ? 0
        : expectAtLeast(serverTimeoutMicroseconds, 1, 'serverTimeoutMicroseconds'),
  };
}

function checkOutputs(names: unknown): readonly string[] {
  if (names === undefined) return [];
  if (!Array.isArray(names))
    throw new TritonError('INVALID_ARG', `outputs must be a list of names, got ${describe(names)}`);
  if (names.length === 0)
    throw new TritonError('INVALID_ARG', 'outputs must name one output at least; leave it out to ask for all');
  return names.map((name) => expectText(name, 'a name in outputs'));
}

const MAX_UINT32 = 2 ** 32 - 1;

function refuseTwice(parameters: unknown, parameter: string, value: unknown, option: string): void {
  if (value === undefined || typeof parameters !== 'object' || parameters === null) return;
  if (!Object.hasOwn(parameters, parameter)) return;
  throw new TritonError(
    'INVALID_ARG',
    `parameter '${parameter}' and the option '${option}' say the same, expected one`,
  );
}

function checkClasses(classes: unknown): ReadonlyMap<string, number> | undefined {
  if (classes === undefined) return undefined;
  expectObject(classes, 'classes');
  const entries = Object.entries(classes as object).map(
    ([name, count]) => [name, expectInteger(count as number, 1, MAX_INT32, `classes of output '${name}'`)] as const,
  );
  return entries.length === 0 ? undefined : new Map(entries);
}

const MAX_INT32 = 2 ** 31 - 1;

function checkParameters(parameters: unknown): Parameters | undefined {
  if (parameters === undefined) return undefined;
  expectObject(parameters, 'parameters');
  for (const [name, value] of Object.entries(parameters as object)) {
    if (name === 'binary_data_output')
      throw new TritonError('INVALID_ARG', `parameter '${name}' is set by the client itself`);
    if (isParameter(value)) continue;
    const got = typeof value === 'bigint' ? String(value) : describe(value);
    throw new TritonError(
      'INVALID_ARG',
      `parameter '${name}' must be a string, a boolean, a number or a bigint of 64 bits, got ${got}`,
    );
  }
  return parameters as Parameters;
}

export function checkSequence(options: SequenceOptions, parameters: Parameters | undefined): RequestSequence {
  checkMembers(options, SEQUENCE_MEMBERS, 'options.sequence of an inference');
  const twice = SEQUENCE_PARAMETERS.find((name) => parameters !== undefined && Object.hasOwn(parameters, name));
  if (twice !== undefined)
    throw new TritonError('INVALID_ARG', `parameter '${twice}' and the option 'sequence' say the same, expected one`);
  const { id, start = false, end = false } = options;
  if (typeof id === 'string') expectUnicode(id, 'sequence.id');
  const fits =
    typeof id === 'string'
      ? id !== ''
      : typeof id === 'bigint'
        ? id >= 1n && id <= MAX_UINT64
        : Number.isSafeInteger(id) && id >= 1;
  if (!fits) {
    throw new TritonError(
      'INVALID_ARG',
      `sequence.id must be a text that is not empty or an integer from 1 to 2^64 - 1, got ${typeof id === 'string' ? "''" : String(id)}`,
    );
  }
  const fields = new SequenceFields();
  fields.id = id;
  fields.start = expectBoolean(start, 'sequence.start');
  fields.end = expectBoolean(end, 'sequence.end');
  return fields.sequence!;
}
