// Marks the errors of requests whose callable is gone with its whole thread, so that whoever follows such a request
// knows that nothing was said about it over there.

import { TritonError } from '../errors.js';

const LOSSES = new WeakSet<TritonError>();

export function instanceLoss(message: string): TritonError {
  const error = new TritonError('UNAVAILABLE', message);
  LOSSES.add(error);
  return error;
}

export function isInstanceLoss(error: TritonError): boolean {
  return LOSSES.has(error);
}
