// A request as clients send it: what it asks of single outputs too, which servers keep beside the request.

import type { ModelInferRequest } from '../model/exchange.js';

export interface ClassifiedRequest extends ModelInferRequest {
  /** By the name of an output, which is one of `outputs`: so many of its best values as text, in place of the tensor. */
  readonly classes?: ReadonlyMap<string, number> | undefined;
}
