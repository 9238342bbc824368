// Which request each row of a batch belongs to: under `batch` one call has the rows of many users.

import type { InferenceRequest } from './callable.js';
import { rowsOf } from './inference-request.js';
import type { Parameters } from './parameters.js';

/** The request of each row, in the order in which `batch` joins them. */
export function requestsByRow(requests: readonly InferenceRequest[]): readonly InferenceRequest[] {
  return requests.flatMap((request) => Array.from({ length: rowsOf(request) }, () => request));
}

/** The parameters of each row's request. */
export function parametersOf(requestOfRow: readonly Pick<InferenceRequest, 'parameters'>[]): readonly Parameters[] {
  return requestOfRow.map(({ parameters }) => parameters);
}
