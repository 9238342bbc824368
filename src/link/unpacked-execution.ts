// Begins an execution when its batch has been unpacked, at once as a rule. It begins some turns of the event loop later
// when many elements become objects, or many rows are joined.

import type { HostExecution } from '../host/host-execution.js';
import { WaitingExecution } from '../host/callable-turns.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { HostedRequest } from '../model/inference-request.js';
import type { PacedWork } from '../pacing/paced-work.js';
import { startPaced } from '../pacing/paced-workers.js';
import { decodeBatch, type EncodedBatch } from './batch-frame.js';
import { joinInputs } from './joined-inputs.js';

/** Unpacks a batch into the requests that its callable gets. */
export function* unpackBatch(
  { buffers, extras }: EncodedBatch,
  config: CompleteModelConfig,
  joinsRows: boolean,
): PacedWork<readonly HostedRequest[]> {
  const requests = yield* decodeBatch(buffers, extras, config);
  // Rows in the frame lie together already.
  if (joinsRows && buffers.length > 1) yield* joinInputs(requests, config);
  return requests;
}

export interface Unpacked {
  /** Begins the execution. */
  done(requests: readonly HostedRequest[]): HostExecution;
  /** Called when the batch cannot be unpacked, so that there is nothing to execute. */
  failed(error: unknown): void;
}

/** Calls `done` before it returns, when unpacking takes no time. */
export function whenUnpacked(work: PacedWork<readonly HostedRequest[]>, unpacked: Unpacked): HostExecution {
  let execution: HostExecution | undefined;
  let waiting: WaitingExecution | undefined;
  startPaced(work, {
    done(requests) {
      execution = unpacked.done(requests);
      waiting?.begin(execution);
    },
    failed: (error) => unpacked.failed(error),
  });
  return execution ?? (waiting = new WaitingExecution());
}
