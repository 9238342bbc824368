// A request as clients send it, with the classifications of outputs. Servers keep these beside the request.

import type { ModelInferRequest } from '../model/exchange.js';

export interface ClassifiedRequest extends ModelInferRequest {
  /** By the name of a requested output: the number of its best values to return as text, in place of the tensor. */
  readonly classes?: ReadonlyMap<string, number> | undefined;
}
