// How Triton's messages begin when they are about one request, and the refusal that engine and models share, in Triton's
// words (core/src/dynamic_batch_scheduler.cc).

import { TritonError } from '../errors.js';

/** `[request id: 7] `, ready to be followed by a message. */
export function requestLabel(id: string): string {
  return `[request id: ${id || '<id_unknown>'}] `;
}

/** Refuses a request that comes after the server was told to stop. */
export function serverStopping(id: string): TritonError {
  const message = 'Server is stopping, scheduler for model has stopped accepting new inference requests';
  return new TritonError('UNAVAILABLE', `${requestLabel(id)}${message}`);
}
