// Requests as frontends hand them to the engine, and a sink that keeps what came of them.
import type { InflightRequest, ResponseSink } from '../../src/core/response-sink.js';
import type { TritonError } from '../../src/errors.js';
import type { InferTensor, ModelInferRequest, ModelInferResponse } from '../../src/model/exchange.js';
import { DTYPES, type DataOf, type Dtype } from '../../src/tensor/dtype.js';
import { encodeRaw } from '../../src/tensor/raw.js';

/** A tensor in wire form. */
export function wireTensor<D extends Dtype>(
  name: string,
  dtype: D,
  data: DataOf[D],
  shape: readonly number[],
): InferTensor {
  return { name, datatype: DTYPES[dtype].datatype, shape, bytes: encodeRaw(dtype, data) };
}

/** A request with defaults for all that a test does not care about. */
export function inferRequest(given: Partial<ModelInferRequest> = {}): ModelInferRequest {
  return {
    modelName: 'm',
    modelVersion: '',
    id: '',
    parameters: undefined,
    inputs: [],
    outputs: [],
    priority: 0,
    timeoutMicroseconds: 0,
    ...given,
  };
}

/** Keeps what a request ended with; `ends` counts how often it did. */
export class RecordingSink implements ResponseSink {
  response: ModelInferResponse | undefined;
  error: TritonError | undefined;
  ends = 0;
  request: InflightRequest | undefined;
  readonly ended: Promise<void>;
  #resolve!: () => void;

  constructor() {
    this.ended = new Promise((resolve) => (this.#resolve = resolve));
  }

  respond(response: ModelInferResponse): void {
    this.response = response;
    this.#end();
  }

  complete(): void {
    this.#end();
  }

  fail(error: TritonError): void {
    this.error = error;
    this.#end();
  }

  /** `CODE message`, or `ok`. */
  get outcome(): string | undefined {
    if (this.ends === 0) return undefined;
    return this.error === undefined ? 'ok' : `${this.error.code} ${this.error.message}`;
  }

  #end(): void {
    this.ends++;
    this.#resolve();
  }
}
