// A callable returns or yields an `InferenceResponse` to say more of a response than its outputs.

import { expectObject } from '../checks/check.js';
import type { Parameters } from './parameters.js';

const BRAND = Symbol.for('tstriton.InferenceResponse');

export interface InferenceResponseOptions {
  /** The client gets these beside the outputs, as the `parameters` of the protocol's response. */
  readonly parameters?: Parameters | undefined;
  /**
   * Of decoupled models: true says that no response follows, so that clients read it on this one. The request ends with it, and
   * so does its generator, as after `break`. Default: false; the end of the generator is the end of its responses.
   */
  readonly final?: boolean | undefined;
}

/**
 * Outputs with response parameters, or with the word that a decoupled model's response is the last one.
 *
 * @example
 * (requests) => requests.map(({ inputs }) => new InferenceResponse({ y: inputs.x }, { parameters: { model_time: 12 } }))
 *
 * @example
 * yield new InferenceResponse({ token }, { final: true });
 */
export class InferenceResponse<Outputs = unknown> {
  readonly outputs: Outputs;
  readonly parameters: Parameters | undefined;
  readonly final: boolean;

  constructor(outputs: Outputs, options: InferenceResponseOptions = {}) {
    expectObject(options, 'options of an InferenceResponse');
    this.outputs = outputs;
    this.parameters = options.parameters;
    this.final = options.final === true;
  }

  /** True for an InferenceResponse of this or another copy of the package. */
  static is(value: unknown): value is InferenceResponse {
    return typeof value === 'object' && value !== null && BRAND in value;
  }
}
Object.defineProperty(InferenceResponse.prototype, BRAND, { value: true });
