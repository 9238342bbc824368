// Plain requests for a BatchQueue, and what it decides about them in few words.
import { BatchQueue, type Decision } from '../../src/core/scheduler/batch-queue.js';
import type { QueuedRequest } from '../../src/core/scheduler/queue-entry.js';
import { completeBatcher } from '../../src/model/complete-batcher.js';
import type { DynamicBatcher } from '../../src/model/model-config.js';

export interface Request extends QueuedRequest {
  /** Stands for the inputs and their shapes; requests of different kinds do not mix. */
  readonly kind: string;
}

export interface RequestOptions {
  readonly rows?: number;
  readonly priority?: number;
  readonly timeout?: number;
  readonly kind?: string;
}

export function request(id: string, { rows = 1, priority = 0, timeout = 0, kind = '' }: RequestOptions = {}): Request {
  return { id, rows, priority, timeoutMicroseconds: timeout * 1000, kind, entry: undefined };
}

export function compatible(first: Request, next: Request): boolean {
  return first.kind === next.kind;
}

/** A queue of a model; `null` stands for no dynamic batcher. */
export function queueOf(batcher: DynamicBatcher | null = {}, maxBatchSize = 8): BatchQueue<Request> {
  const complete = batcher === null ? undefined : completeBatcher(batcher, maxBatchSize, "model 'm'");
  const signatureOf = complete?.groupByShape ? ({ kind }: Request) => kind : undefined;
  return new BatchQueue({ maxBatchSize, batcher: complete, compatible, signatureOf });
}

/** Enqueues `a`, `b`, … with these rows at moment `now`. */
export function enqueueRows(queue: BatchQueue<Request>, rows: readonly number[], now = 0): Request[] {
  const requests = rows.map((count, index) => request(String.fromCharCode(97 + index), { rows: count }));
  for (const each of requests) queue.enqueue(each, now);
  return requests;
}

/** `ab` for a batch of a and b, with the reason; or what else was decided. */
export function told(decision: Decision<Request>): string {
  if (decision.kind === 'run') return `${idsOf(decision.batch)} ${decision.reason}`;
  return decision.kind === 'wait' ? `wait until ${decision.until}` : 'idle';
}

export function idsOf(requests: readonly Request[]): string {
  return requests.map(({ id }) => id).join('');
}

/** All batches that a free instance would run one after the other at moment `now`. */
export function batchesAt(queue: BatchQueue<Request>, now: number): string[] {
  const batches: string[] = [];
  for (;;) {
    const decision = queue.next(now);
    if (decision.kind !== 'run') return batches;
    batches.push(idsOf(decision.batch));
  }
}
