// What a model needs of its scheduler. The scheduler decides which requests run together, when, and on which instance.
// The model's BatchRunner runs the batches: on the instance whose turn it is (`free`), or on one that the scheduler chooses
// among `slots`. It tells the scheduler when an instance has room for another batch.

import type { TritonError } from '../../errors.js';
import type { ModelInferRequest } from '../../model/exchange.js';
import type { RequestSequence } from '../../model/request-sequence.js';
import type { Slot } from './instance-slots.js';
import type { PendingRequest } from './pending-request.js';

export interface Scheduler {
  /** Takes ownership of a request, which ends as the model's RequestOutcomes tell: answered, failed or refused. */
  enqueue(request: PendingRequest): void;
  /** The client of a request is gone: the request is over, whether it is queued or runs. */
  cancelled(request: PendingRequest): void;
  /** An instance has room for a batch. `now`: it is idle until this returns; otherwise a later turn will do. */
  dispatch(now: boolean): void;
  /** Fails the queued requests; nothing is left that keeps the process alive. */
  failQueued(error: TritonError): void;
  /** An instance has ended. Its running batches end too, and it never takes a batch again. */
  instanceEnded?(slot: Slot): void;
  /** Whether a request continues a live sequence, and so is accepted during a drain. Default: none does. */
  continues?(request: Pick<ModelInferRequest, 'sequence'>): boolean;
  /** A sequence of this id has begun in the model that replaces this one. The live sequence of that id is over after its requests. */
  supersede?(id: RequestSequence['id']): void;
  /**
   * Called when no new work comes. Resolves when no request can continue a live sequence. With `accepting`, such requests
   * still come until then; without it, no request comes.
   */
  drain?(accepting: boolean): Promise<void>;
}
