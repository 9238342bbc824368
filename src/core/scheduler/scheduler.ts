// What a model needs of whoever decides which of its requests run together, when, and on which of its instances. The
// batches themselves are run by the model's BatchRunner, which in turn says when an instance has room for another one.

import type { TritonError } from '../../errors.js';
import type { PendingRequest } from '../pending-request.js';

export interface Scheduler {
  /** Takes ownership of a request, which ends as the model's RequestOutcomes tell: answered, failed or refused. */
  enqueue(request: PendingRequest): void;
  /** The client of a request is gone: the request is over, whether it is queued or runs. */
  cancelled(request: PendingRequest): void;
  /** An instance has room for a batch. `now`: it is idle until this returns; otherwise a later turn will do. */
  dispatch(now: boolean): void;
  /** Fails the queued requests; nothing is left that keeps the process alive. */
  failQueued(error: TritonError): void;
}
