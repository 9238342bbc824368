// Where the objects that callables keep for sequences come from: functions of the user's, in the thread of the callable.

import { invalidArg } from '../errors.js';
import type { CompleteModelConfig } from './complete-model-config.js';
import type { SequenceBatching, SequenceEndReason } from './sequence-batching.js';

export interface SequenceStateSource {
  readonly create: () => unknown;
  readonly onEnd: ((state: never, reason: SequenceEndReason) => void) | undefined;
}

/** The functions that a declaration has, or a module exports; undefined where there is none that makes objects. */
export function sequenceStateSource(
  given: Pick<SequenceBatching, 'state' | 'onEnd'> | undefined,
): SequenceStateSource | undefined {
  const create = given?.state;
  return typeof create === 'function' ? { create, onEnd: given!.onEnd } : undefined;
}

/** Throws INVALID_ARG where a model keeps objects for its sequences, and nothing in the callable's thread makes them. */
export function expectStateSource(
  source: SequenceStateSource | undefined,
  { name, sequenceBatching: batching }: CompleteModelConfig,
  module: string,
): void {
  if (batching?.keepsObjects !== true || source !== undefined) return;
  throw invalidArg(
    `config.sequenceBatching.state of model '${name}' is a function, which cannot reach the thread of ${module}: the module must export 'state'`,
  );
}
