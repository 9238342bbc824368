// A batch's results, and the responses of a stream, as messages carry them: the tensors in one buffer, and numbers that
// say where each lies. Each request or response has the number of its outputs, and then for each output:
//
//   index of the declared output, rank, dimensions…, offset into the tensors, length in bytes

import type { ExecutionResult } from '../core/instance/model-instance.js';
import { TritonError } from '../errors.js';
import { type HostResult, RESCHEDULED } from '../host/host-results.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { InferTensor } from '../model/exchange.js';
import type { PacedWork } from '../pacing/paced-work.js';
import type { Parameters } from '../model/parameters.js';
import type { RequestExtras } from './messages.js';
import { ResultFrame, type FramedTensor } from './result-frame.js';
import { receiveError, sendError, type SentError } from './sent-error.js';

/** These stand in place of the number of outputs: the request failed, or is to be executed again. */
const FAILED = -1;
const AGAIN = -2;

export interface EncodedResults {
  /** Begins with its header: the header's length in numbers, and then the numbers of each request. The sender hands it over. */
  readonly frame: ArrayBuffer;
  /** The errors of the requests that failed, in order. */
  readonly errors: readonly SentError[] | undefined;
}

type RequestedOutputs = RequestExtras['requestedOutputs'];

export function encodeResults(
  results: readonly HostResult[],
  requestedOutputs: RequestedOutputs,
  config: CompleteModelConfig,
): EncodedResults {
  const frame = new ResultFrame(config);
  const { header, errors } = addResults(frame, results, requestedOutputs, results);
  return { frame: frame.write(header).buffer as ArrayBuffer, errors };
}

/** Does the same with pauses, for results with many elements. */
export function* encodeResultsPaced(
  results: readonly HostResult[],
  requestedOutputs: RequestedOutputs,
  config: CompleteModelConfig,
): PacedWork<EncodedResults> {
  const frame = new ResultFrame(config);
  const measured = yield* frame.measure(results, requestedOutputs);
  const { header, errors } = addResults(frame, measured, requestedOutputs, results);
  const { buffer } = yield* frame.writePaced(header);
  return { frame: buffer as ArrayBuffer, errors };
}

interface AddedResults {
  readonly header: readonly number[];
  readonly errors: SentError[] | undefined;
}

function addResults(
  frame: ResultFrame,
  results: readonly HostResult[],
  requestedOutputs: RequestedOutputs,
  given: readonly HostResult[],
): AddedResults {
  const header: number[] = [0];
  let errors: SentError[] | undefined;
  for (let index = 0; index < results.length; index++) {
    if (given[index] === RESCHEDULED) {
      header.push(AGAIN);
      continue;
    }
    const places = frame.add(results[index]!, requestedOutputs?.[index]);
    if (TritonError.is(places)) {
      (errors ??= []).push(sendError(places));
      header.push(FAILED);
    } else {
      encodeOutputs(places, 0, header);
    }
  }
  header[0] = header.length;
  return { header, errors };
}

/** Writes the numbers of one request's outputs. Their tensors begin at `start`. */
export function encodeOutputs(places: readonly FramedTensor[], start: number, numbers: number[]): void {
  numbers.push(places.length);
  for (let i = 0; i < places.length; i++) {
    const { output, shape, offset, byteLength } = places[i]!;
    numbers.push(output, shape.length);
    for (let axis = 0; axis < shape.length; axis++) numbers.push(shape[axis]!);
    numbers.push(start + offset, byteLength);
  }
}

/** The results of a message without a frame: the whole batch failed, for the only reason. */
export function sameError(count: number, error: TritonError): ExecutionResult[] {
  return Array.from({ length: count }, () => ({ kind: 'error', error }) as const);
}

export function decodeResults(
  { frame, errors = [] }: EncodedResults,
  parameters: readonly (Parameters | undefined)[] | undefined,
  count: number,
  config: CompleteModelConfig,
): ExecutionResult[] {
  const headerLength = new Float64Array(frame, 0, 1)[0]!;
  const numbers = new Float64Array(frame, 0, headerLength);
  const reader = new OutputsReader(numbers, { buffer: frame, start: headerLength * 8, config });
  reader.at = 1;
  const results: ExecutionResult[] = [];
  let failures = 0;
  for (let index = 0; index < count; index++) {
    const outputCount = reader.next();
    if (outputCount === AGAIN) results.push({ kind: 'again' });
    else if (outputCount === FAILED) results.push({ kind: 'error', error: receiveError(errors[failures++]!) });
    else {
      const outputs = reader.outputs(outputCount);
      results.push({
        kind: 'outputs',
        outputs,
        parameters: parameters?.[index],
        memory: count === 1 ? frame : undefined,
      });
    }
  }
  return results;
}

/** Reads what {@link encodeOutputs} has written; the tensors are views of the buffer. */
export class OutputsReader {
  /** Where the next number is. */
  at = 0;
  readonly #numbers: ArrayLike<number>;
  readonly #buffer: ArrayBuffer;
  readonly #start: number;
  readonly #outputs: CompleteModelConfig['outputs'];

  /** The tensors begin at `start` of the buffer. */
  constructor(
    numbers: ArrayLike<number>,
    { buffer, start, config }: { buffer: ArrayBuffer; start: number; config: CompleteModelConfig },
  ) {
    this.#numbers = numbers;
    this.#buffer = buffer;
    this.#start = start;
    this.#outputs = config.outputs;
  }

  get isAtEnd(): boolean {
    return this.at >= this.#numbers.length;
  }

  next(): number {
    return this.#numbers[this.at++]!;
  }

  outputs(count: number): InferTensor[] {
    const outputs: InferTensor[] = [];
    for (let i = 0; i < count; i++) {
      const { name, datatype } = this.#outputs[this.next()]!;
      const shape: number[] = [];
      for (let rank = this.next(); rank > 0; rank--) shape.push(this.next());
      const offset = this.#start + this.next();
      outputs.push({ name, datatype, shape, bytes: new Uint8Array(this.#buffer, offset, this.next()) });
    }
    return outputs;
  }
}
