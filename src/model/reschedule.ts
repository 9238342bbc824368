// Lets callables of iterative models give their place back between the steps of a request: it is executed again, in the next
// batch. The request itself keeps the wish until the callable has returned.

import { TritonError } from '../errors.js';
import type { CompleteModelConfig } from './complete-model-config.js';
import type { RequestWith } from './callable.js';

/** A member of our requests that callables do not see. Copies that users make lack it. */
export interface ReschedulableRequest {
  /** False takes the wish back. */
  reschedule(again: boolean): void;
}

/** `again`: whether the request is to be executed once more. */
export function rescheduleRequest(request: RequestWith<unknown>, again: boolean): void {
  const own = request as Partial<ReschedulableRequest>;
  if (typeof own.reschedule === 'function') return own.reschedule(again);
  const message =
    'reschedule cannot find the request of a row: make requests with other inputs by withInputs(request, inputs)';
  throw new TritonError('INTERNAL', message);
}

/** Throws INTERNAL where the model's requests are executed once only. */
export function expectIterative({ name, sequenceBatching }: CompleteModelConfig): void {
  if (sequenceBatching?.iterative === true) return;
  throw new TritonError(
    'INTERNAL',
    `model '${name}' cannot reschedule: its config.sequenceBatching must have iterative: true`,
  );
}
