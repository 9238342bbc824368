// The refusal of a request that comes after the server was told to stop, in Triton's words
// (core/src/dynamic_batch_scheduler.cc).

import { TritonError } from '../errors.js';
import { requestLabel } from './request-label.js';

export function serverStopping(id: string): TritonError {
  const message = 'Server is stopping, scheduler for model has stopped accepting new inference requests';
  return new TritonError('UNAVAILABLE', `${requestLabel(id)}${message}`);
}
