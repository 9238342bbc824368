// Makes the request object that callables get. A callable may return it in place of its outputs, so a brand marks it.
// Its AbortSignal is made at the first access.

import type { Tensor } from '../tensor/tensor.js';
import type { InferenceRequest, RequestWith } from './callable.js';
import { inFormOf, type NamedTensors } from './input-list.js';
import type { Parameters } from './parameters.js';
import type { RequestSequence } from './request-sequence.js';
import { type FailingRequest, failRowOf, failureOf, noSuchRow, type RowFailure } from './row-failures.js';
import { rescheduleRequest, type ReschedulableRequest } from './reschedule.js';
import type { Span } from '../observability/span.js';
import type { CompleteTensorSpec } from './complete-model-config.js';

const BRAND = Symbol.for('tstriton.InferenceRequest');
const NO_PARAMETERS: Parameters = Object.freeze({});

export class HostedRequest implements InferenceRequest, FailingRequest, ReschedulableRequest {
  readonly inputs: Readonly<Record<string, Tensor>>;
  readonly parameters: Parameters;
  readonly id: string;
  /** Rows of the batch axis; 1 when the model does not batch. */
  readonly rows: number;
  /** Set before the callable runs, when the request belongs to a sequence. */
  sequence: RequestSequence | undefined = undefined;
  /** Where the model batches by sequences: which one it is, its row, and whether it is over with this request. */
  live: { readonly serial: number; readonly slot: number; readonly isOwn?: boolean } | undefined = undefined;
  /** Whether the callable wants another execution of it. */
  isRescheduled = false;
  /** Set before the callable runs. */
  requestedOutputs: readonly string[] = [];
  /** Set before the callable runs, when the client named one. */
  priority = 0;
  /** Set before the callable runs, when the client named one. */
  timeoutMicroseconds = 0;
  /** Set before the callable runs, when the request is traced. */
  span: Span | undefined = undefined;
  #controller: AbortController | undefined;
  #aborted = false;
  #failure: RowFailure | undefined;

  constructor(inputs: Readonly<Record<string, Tensor>>, rows: number, id: string, parameters: Parameters | undefined) {
    this.inputs = inputs;
    this.rows = rows;
    this.id = id;
    this.parameters = parameters ?? NO_PARAMETERS;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  /** The client is gone. */
  abort(): void {
    this.#aborted = true;
    this.#controller?.abort();
  }

  /** The failure of the row that failed first; undefined while none has. */
  get failure(): RowFailure | undefined {
    return this.#failure;
  }

  failRow(row: number, error: unknown): void {
    this.#failure ??= { row, error };
  }

  reschedule(again: boolean): void {
    this.isRescheduled = again;
  }
}
Object.defineProperty(HostedRequest.prototype, BRAND, { value: true });

/** A request with other inputs, for decorators to hand on. */
class DerivedRequest implements InferenceRequest, FailingRequest, ReschedulableRequest {
  readonly inputs: Readonly<Record<string, Tensor>>;
  readonly parameters: Parameters;
  readonly id: string;
  readonly rows: number;
  readonly sequence: RequestSequence | undefined;
  readonly #original: InferenceRequest;

  constructor(original: InferenceRequest, inputs: Readonly<Record<string, Tensor>>) {
    this.inputs = inFormOf(original.inputs, inputs);
    this.parameters = original.parameters;
    this.id = original.id;
    this.rows = rowsOf(original);
    this.sequence = original.sequence;
    this.#original = original;
  }

  get signal(): AbortSignal {
    return this.#original.signal;
  }

  get requestedOutputs(): readonly string[] {
    return this.#original.requestedOutputs;
  }

  get priority(): number {
    return this.#original.priority;
  }

  get timeoutMicroseconds(): number {
    return this.#original.timeoutMicroseconds;
  }

  get span(): Span | undefined {
    return this.#original.span;
  }

  get failure(): RowFailure | undefined {
    return failureOf(this.#original);
  }

  failRow(row: number, error: unknown): void {
    failRowOf(this.#original, row, error);
  }

  reschedule(again: boolean): void {
    rescheduleRequest(this.#original, again);
  }
}
Object.defineProperty(DerivedRequest.prototype, BRAND, { value: true });

/**
 * The same request with other inputs, for decorators that change them: parameters, id, sequence and signal stay. A copy by
 * spreading would lose the signal.
 */
export function withInputs<T extends object>(request: RequestWith<unknown>, inputs: T): RequestWith<T> {
  return new DerivedRequest(request as InferenceRequest, inputs as NamedTensors) as unknown as RequestWith<T>;
}

/** True for a request as callables get it, of this or another copy of the package. */
export function isInferenceRequest(value: unknown): value is InferenceRequest {
  return typeof value === 'object' && value !== null && BRAND in value;
}

/**
 * The inputs of a request in declaration order, as a list. A request that is returned as a result stands for this list.
 */
export function inputsInOrder(request: InferenceRequest, specs: readonly CompleteTensorSpec[]): (Tensor | undefined)[] {
  return specs.map((spec) => (request.inputs as Readonly<Record<string, Tensor>>)[spec.name]);
}

/** Rows of a request's tensors along the batch axis; 1 for a request without inputs. */
export function rowsOf(request: RequestWith<unknown>): number {
  const { rows } = request as { readonly rows?: unknown };
  if (typeof rows === 'number') return rows;
  for (const tensor of Object.values(request.inputs as Readonly<Record<string, Tensor>>)) return tensor.rowCount;
  return 1;
}

/** The request of each row, in the order in which `batch` joins them. */
export function requestsByRow(requests: readonly InferenceRequest[]): readonly InferenceRequest[] {
  return requests.flatMap((request) => Array.from({ length: rowsOf(request) }, () => request));
}

/** The parameters of each row's request. */
export function parametersOf(requestOfRow: readonly Pick<InferenceRequest, 'parameters'>[]): readonly Parameters[] {
  return requestOfRow.map(({ parameters }) => parameters);
}

/** Fails the request of a row. The rows of the requests lie one after the other. */
export function failRow(requests: readonly RequestWith<unknown>[], row: number, error: unknown): void {
  atRow(requests, row, 'failRow', (request, own) => failRowOf(request, own, error));
}

/** Asks for another execution of the request of a row. */
export function reschedule(requests: readonly RequestWith<unknown>[], row: number): void {
  atRow(requests, row, 'reschedule', (request) => rescheduleRequest(request, true));
}

function atRow(
  requests: readonly RequestWith<unknown>[],
  row: number,
  taker: string,
  take: (request: RequestWith<unknown>, row: number) => void,
): void {
  let first = 0;
  for (const request of requests) {
    const rows = rowsOf(request);
    if (Number.isInteger(row) && row >= first && row < first + rows) return take(request, row - first);
    first += rows;
  }
  throw noSuchRow(row, first, taker);
}
