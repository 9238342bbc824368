// A result with parameters, which a raw callable returns in place of bare outputs.

import type { Parameters } from './parameters.js';

const BRAND = Symbol.for('tstriton.InferenceResponse');

export interface InferenceResponseOptions {
  /** What the client gets beside the outputs: the `parameters` of the protocol's response. */
  readonly parameters?: Parameters;
}

/**
 * Outputs with response parameters.
 *
 * @example
 * (requests) => requests.map(({ inputs }) => new InferenceResponse({ y: inputs.x }, { parameters: { model_time: 12 } }))
 */
export class InferenceResponse<Outputs = unknown> {
  readonly outputs: Outputs;
  readonly parameters: Parameters | undefined;

  constructor(outputs: Outputs, options: InferenceResponseOptions = {}) {
    this.outputs = outputs;
    this.parameters = options.parameters;
  }

  /** True for an InferenceResponse of this or another copy of the package. */
  static is(value: unknown): value is InferenceResponse {
    return typeof value === 'object' && value !== null && BRAND in value;
  }
}
Object.defineProperty(InferenceResponse.prototype, BRAND, { value: true });
