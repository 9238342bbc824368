// Keeps the state of each sequence, in the callable's thread. It also makes the control inputs, and the rows for empty slots,
// that a callable gets beside the inputs of its requests.

import { TritonError } from '../errors.js';
import { isPromiseLike } from '../model/awaitable.js';
import { HostedRequest } from '../model/inference-request.js';
import type {
  CompleteModelConfig,
  CompleteSequenceBatching,
  CompleteSequenceState,
} from '../model/complete-model-config.js';
import type { NamedTensors } from '../model/input-list.js';
import type { ResolvedOutputs } from '../model/resolve-outputs.js';
import type { SequenceEndReason } from '../model/sequence-batching.js';
import type { SequenceStateSource } from '../model/sequence-state-source.js';
import type { Logger } from '../observability/logger.js';
import { copyOf } from '../tensor/copy-of.js';
import { type DataOf, type Dtype, DTYPES, isBytesDtype } from '../tensor/dtype.js';
import { decodeRaw } from '../tensor/raw.js';
import { Tensor } from '../tensor/tensor.js';
import { type HostResult, RESCHEDULED } from './host-results.js';
import { controlTensor } from './sequence-controls.js';

interface Kept {
  readonly object: unknown;
  /** The tensor of each declared state. */
  readonly tensors: Tensor[];
}

/** A batch as the callable gets it. */
export interface SequencedBatch {
  readonly requests: readonly HostedRequest[];
  /** Each request's place in the server's batch; undefined for an empty slot. */
  readonly places: readonly (number | undefined)[];
  /** Requests for which no state could be made, by their places in the server's batch. */
  readonly failed: ReadonlyMap<number, TritonError>;
}

export class HostedSequences {
  /** The model as its callable sees it: with control inputs, and with states among the inputs and outputs. */
  readonly config: CompleteModelConfig;
  readonly #batching: CompleteSequenceBatching;
  readonly #source: SequenceStateSource | undefined;
  readonly #logger: Logger;
  readonly #states = new Map<number, Kept>();
  readonly #outputCount: number;
  /** Of each state, the place of its output. Clients get one that the model declares too. */
  readonly #outputOf: readonly number[];

  constructor(config: CompleteModelConfig, source: SequenceStateSource | undefined, logger: Logger) {
    const { inputs, outputs } = config;
    const batching = config.sequenceBatching!;
    const { controls, states } = batching;
    const names = outputs.map(({ name }) => name);
    const hidden = states.filter(({ output }) => !names.includes(output));
    this.config = {
      ...config,
      inputs: [...inputs, ...controls, ...states],
      outputs: [...outputs, ...hidden.map((state) => ({ ...state, name: state.output }))],
    };
    this.#outputOf = states.map(({ output }) => this.config.outputs.findIndex(({ name }) => name === output));
    this.#batching = batching;
    this.#source = source;
    this.#logger = logger;
    this.#outputCount = outputs.length;
  }

  /** The number of sequences that have state here. */
  get size(): number {
    return this.#states.size;
  }

  /** Gives the requests of a batch their states and controls. */
  enter(batch: readonly HostedRequest[]): SequencedBatch {
    const requests: HostedRequest[] = [];
    const places: (number | undefined)[] = [];
    const failed = new Map<number, TritonError>();
    const { emptySlots } = this.#batching;
    batch.forEach((request, place) => {
      try {
        const kept = this.#stateOf(request);
        if (emptySlots) {
          while (requests.length < request.live!.slot) {
            requests.push(this.#emptySlot(batch[0]!));
            places.push(undefined);
          }
        }
        this.#fill(request, kept);
        requests.push(request);
        places.push(place);
      } catch (thrown) {
        const error = TritonError.from(thrown);
        if (error !== thrown) this.#logger.error(`the state of a sequence could not be made: ${error.stack}`);
        failed.set(place, error);
      }
    });
    return { requests, places, failed };
  }

  /** Copies the states among a request's outputs to `given`, each to its place. Returns the other outputs. */
  take(outputs: ResolvedOutputs, given: Tensor[]): ResolvedOutputs {
    const { states } = this.#batching;
    if (states.length === 0) return outputs;
    states.forEach((_, index) => {
      const tensor = outputs[this.#outputOf[index]!];
      // The callable may write to its memory again.
      if (tensor !== undefined) given[index] = copyOf(tensor);
    });
    return outputs.slice(0, this.#outputCount);
  }

  /** Keeps the states that a request has given. To be called when it has not failed. */
  keep({ live }: HostedRequest, given: readonly Tensor[]): void {
    const kept = live && this.#states.get(live.serial);
    // Its places without a state are holes.
    if (kept !== undefined) given.forEach((tensor, index) => (kept.tensors[index] = tensor));
  }

  /** Called after a request was executed, unless it will be again. Its sequence is over if it has END, or is its own. */
  leave({ live, sequence }: HostedRequest): void {
    if (live !== undefined && (sequence?.end === true || live.isOwn === true)) this.end(live.serial, 'ended');
  }

  /** Puts the results of a batch in the places of its requests. */
  results({ places, failed }: SequencedBatch, batch: readonly HostedRequest[], results: readonly HostResult[]) {
    const own: HostResult[] = [];
    for (const [place, error] of failed) own[place] = error;
    places.forEach((place, index) => {
      if (place === undefined) return;
      const result = results[index]!;
      const request = batch[place]!;
      if (TritonError.is(result)) own[place] = result;
      else {
        const given: Tensor[] = [];
        const outputs = this.take(result as ResolvedOutputs, given);
        this.keep(request, given);
        own[place] = request.isRescheduled ? RESCHEDULED : outputs;
      }
    });
    batch.forEach((request, place) => {
      if (own[place] !== RESCHEDULED) this.leave(request);
    });
    return own;
  }

  /** Drops the state of a sequence that is over. */
  end(serial: number, reason: SequenceEndReason): void {
    const kept = this.#states.get(serial);
    if (kept === undefined) return;
    this.#states.delete(serial);
    const failed = (error: unknown) => {
      this.#logger.error(`onEnd of a sequence failed: ${TritonError.from(error).stack}`);
    };
    try {
      // An asynchronous function is one that gives nothing too.
      const ended: unknown = this.#source?.onEnd?.(kept.object as never, reason);
      if (isPromiseLike(ended)) Promise.resolve(ended).catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  /** Ends all sequences, because their server is gone. */
  endAll(): void {
    for (const serial of this.#states.keys()) this.end(serial, 'unloaded');
  }

  /** Returns the state of a request's sequence. A request that starts a sequence gets a new state. */
  #stateOf({ live, sequence }: HostedRequest): Kept | undefined {
    const { states } = this.#batching;
    if (live === undefined || (this.#source === undefined && states.length === 0)) return undefined;
    const { serial } = live;
    if (sequence?.start === true) this.end(serial, 'restarted');
    let kept = this.#states.get(serial);
    if (kept === undefined) {
      kept = { object: this.#source?.create(), tensors: states.map((state) => this.#initial(state)) };
      this.#states.set(serial, kept);
    }
    return kept;
  }

  #fill(request: HostedRequest, kept: Kept | undefined): void {
    const { sequence, live } = request;
    const inputs = request.inputs as NamedTensors;
    const row = { sequence, serial: live?.serial ?? 0 };
    for (const control of this.#batching.controls) inputs[control.name] = controlTensor(control, row, this.#isBatched);
    // A copy, because a callable may write to its inputs, and its request may fail.
    this.#batching.states.forEach(({ name }, index) => (inputs[name] = copyOf(kept!.tensors[index]!)));
    if (this.#source !== undefined && sequence !== undefined) {
      const { id, start, end } = sequence;
      request.sequence = { id, start, end, state: kept!.object };
    }
  }

  /** Makes the row of an empty slot: zeros and empty strings in the shapes of the first request's inputs. */
  #emptySlot(first: HostedRequest): HostedRequest {
    const inputs: NamedTensors = {};
    for (const { name, dtype } of this.config.inputs) {
      const tensor = first.inputs[name];
      if (tensor !== undefined) inputs[name] = new Tensor(dtype, zeros(dtype, tensor.data.length), tensor.shape);
    }
    const empty = new HostedRequest(inputs, 1, '', undefined);
    empty.requestedOutputs = first.requestedOutputs;
    for (const control of this.#batching.controls) {
      inputs[control.name] = controlTensor(control, { sequence: undefined, serial: 0 }, this.#isBatched);
    }
    for (const state of this.#batching.states) inputs[state.name] = this.#initial(state);
    return empty;
  }

  get #isBatched(): boolean {
    return this.config.maxBatchSize > 0;
  }

  #initial({ dtype, initial: { bytes, shape } }: CompleteSequenceState): Tensor {
    // A copy, because a callable may change it.
    const data = decodeRaw(dtype, bytes.slice());
    return new Tensor(dtype, data, this.#isBatched ? [1, ...shape] : shape);
  }
}

function zeros(dtype: Dtype, count: number): DataOf[Dtype] {
  if (!isBytesDtype(dtype)) return new DTYPES[dtype].array(count) as DataOf[Dtype];
  return Array.from({ length: count }, () => (dtype === 'string' ? '' : new Uint8Array())) as DataOf[Dtype];
}
