// Begins an execution when its batch has been unpacked: at once, as a rule, or some turns of the event loop later when many
// elements had to become objects, or many rows had to be joined.

import { type HostExecution } from '../host/callable-host.js';
import { WaitingExecution } from '../host/callable-turns.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { HostedRequest } from '../model/inference-request.js';
import type { PacedWork } from '../model/paced-work.js';
import { startPaced } from '../model/paced-workers.js';
import { decodeBatch, type EncodedBatch } from './batch-frame.js';
import { joinInputs } from './joined-inputs.js';

/** A batch as its callable is to get it. */
export function* unpackBatch(
  { buffers, extras }: EncodedBatch,
  config: CompleteModelConfig,
  joinsRows: boolean,
): PacedWork<readonly HostedRequest[]> {
  const requests = yield* decodeBatch(buffers, extras, config);
  if (joinsRows) yield* joinInputs(requests, config);
  return requests;
}

export interface Unpacked {
  /** Begins the execution. */
  done(requests: readonly HostedRequest[]): HostExecution;
  /** There is nothing to execute. */
  failed(error: unknown): void;
}

/** `done` is called before this returns when unpacking takes no time. */
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
