// The options of a model that batches sequences, as users write them: Triton's ModelSequenceBatching in camelCase.
// `complete-sequence-batching.ts` checks them and fills the defaults in.

import type { Dtype } from '../tensor/dtype.js';
import type { Tensor } from '../tensor/tensor.js';

/** An input that the server makes for the callable, from what a request says of its sequence. */
export type SequenceControl =
  | {
      /** READY is true of each row that holds a request: false only in empty slots. */
      readonly control: 'START' | 'END' | 'READY';
      /** Default `int32`. */
      readonly dtype?: 'int32' | 'float32' | 'bool';
      /** The values for false and for true. Default 0 and 1. */
      readonly falseTrue?: readonly [number | boolean, number | boolean];
    }
  | {
      /** The id of the sequence. */
      readonly control: 'CORRID';
      /** Default `uint64`. A text as an id needs `string`: as a number it is another one for each sequence. */
      readonly dtype?: 'uint64' | 'int64' | 'uint32' | 'int32' | 'string';
    };

/** A tensor that the server keeps for each sequence: the callable gets it as an input, and gives it as an output. */
export interface SequenceStateSpec {
  readonly dtype: Dtype;
  /** Without the batch axis; -1 stands for any size. */
  readonly shape: readonly number[];
  /** The output that it is taken from. Default: the name of the state. */
  readonly output?: string;
  /**
   * What a sequence begins with: one number for all elements, or all elements. Default: zeros, empty strings. Without all
   * elements an axis of -1 has one.
   */
  readonly initial?: number | bigint | boolean | string | ArrayBufferView | readonly unknown[] | Tensor;
}

/** Why the state of a sequence is not needed any more. */
export type SequenceEndReason = 'ended' | 'restarted' | 'expired' | 'cancelled' | 'unloaded';

/** Triton's ModelSequenceBatching, and what TypeScript callables have beyond it. */
export interface SequenceBatching {
  /**
   * `direct`: each sequence has one row of all batches while it lives. `oldest`: the requests that have waited longest are batched
   * dynamically, one of each sequence. Default `direct`.
   */
  readonly strategy?: 'direct' | 'oldest';
  /** A sequence of which nothing waits or runs for so long is over, and its id unknown. Default and 0: 1 000 000. */
  readonly maxSequenceIdleMicroseconds?: number;
  /** Inputs that the callable gets beside the inputs of clients, by their names. */
  readonly controls?: Readonly<Record<string, SequenceControl>>;
  /** Tensors that the server keeps for each sequence, by the names of their inputs, or a function that makes any object for one. */
  readonly state?: Readonly<Record<string, SequenceStateSpec>> | (() => unknown);
  /** Told when the object of a sequence is needed no more. */
  readonly onEnd?: (state: never, reason: SequenceEndReason) => void;
  /**
   * Continuous batching: the callable may `reschedule` a request, which is then executed again in the next batch, and a request
   * without an id is a sequence of its own, which is over with its answer. Default false.
   */
  readonly iterative?: boolean;
  /** Of `oldest`: how many sequences an instance works on at a time; others wait. Default and 0: the maximum batch size. */
  readonly maxCandidateSequences?: number;
  /** Of `oldest`: batch sizes to send as soon as they are reached. Default: the maximum batch size. */
  readonly preferredBatchSize?: readonly number[];
  /** How long a request may wait for others. Of `direct` only with `minimumSlotUtilization`. Default 0. */
  readonly maxQueueDelayMicroseconds?: number;
  /** Of `direct`: the part of an instance's slots that is enough for a batch before the delay is over. Default 0. */
  readonly minimumSlotUtilization?: number;
  /** Of `oldest`: an instance answers in the order in which the requests came to it. Default false. */
  readonly preserveOrdering?: boolean;
  /** Most sequences at a time; one more is refused with UNAVAILABLE. Default 200 000. */
  readonly maxLiveSequences?: number;
  /** Of `direct`: the callable gets rows for empty slots too, as models with fixed batches need them. Default false. */
  readonly emptySlots?: boolean;
}
