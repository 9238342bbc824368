// Why requests are refused that no model takes, in Triton's words (core/src/dynamic_batch_scheduler.cc, server/src/common.cc).

import { invalidArg, TritonError } from '../errors.js';
import { provesUnexecuted } from '../model/unexecuted.js';

/** Characters of an id in a message. gRPC cuts long messages, which would lose the reason behind a longer id. */
const MOST_OF_ID = 4000;
/** Of an id with characters that gRPC escapes, with up to nine bytes each. */
const MOST_OF_ESCAPED_ID = 500;
const UNESCAPED = /^[ -$&-~]*$/;

/** `[request id: 7] `, ready to be followed by a message. */
export function requestLabel(id: string): string {
  if (id.length <= MOST_OF_ESCAPED_ID) return `[request id: ${id || '<id_unknown>'}] `;
  const most = UNESCAPED.test(id) ? MOST_OF_ID : MOST_OF_ESCAPED_ID;
  if (id.length <= most) return `[request id: ${id}] `;
  // Half a surrogate pair is not text.
  return `[request id: ${id.slice(0, most).replace(/[\ud800-\udbff]$/, '')}...] `;
}

/** Refuses a request that breaks a rule. */
export function refuse({ id }: { readonly id: string }, message: string): TritonError {
  return invalidArg(`${requestLabel(id)}${message}`);
}

/** Refuses a request that comes after the server was told to stop. Without an id as the sequence batcher does. */
export function serverStopping(id: string | undefined): TritonError {
  const message = 'Server is stopping, scheduler for model has stopped accepting new inference requests';
  return new TritonError('UNAVAILABLE', `${id === undefined ? '' : requestLabel(id)}${message}`);
}

/**
 * The error of an execution, as its client gets it. A callable may pass on a refusal of another model. In the same words, clients
 * would send the executed request again.
 */
export function executionError(error: TritonError, model: string): TritonError {
  const { code, message } = error;
  if ((code !== 'UNAVAILABLE' && code !== 'NOT_FOUND') || !provesUnexecuted(message)) return error;
  return new TritonError(code, `model '${model}' failed while it ran: ${message}`, { cause: error });
}

// Why a loaded version of a model serves nobody for a while; it serves again by itself. Clients get the texts.

export const INTERRUPTIONS = {
  /** Its instances have all died since it was loaded, and are being started again. */
  ended: 'all instances have ended',
  /** Its instances live, but will not take a batch. */
  stalled: 'all instances are busy with batches that took too long',
  /** Its instances share a thread with code that does not come to an end. */
  blocked: 'the thread that it runs in is blocked',
} as const;

export type Interruption = keyof typeof INTERRUPTIONS;

const MAX_INT64 = 9_223_372_036_854_775_807n;

/** Undefined for the latest version. Throws INVALID_ARG with Triton's texts (server/src/common.cc). */
export function parseModelVersion(version: string): number | undefined {
  if (version === '') return undefined;
  if (/^-[0-9]+$/.test(version)) {
    throw invalidArg(`invalid model version specified '${version}' , version should be an integral value > 0`);
  }
  if (!/^[0-9]+$/.test(version) || (version.length > 18 && BigInt(version) > MAX_INT64)) {
    throw invalidArg(
      `failed to get model version from specified version string '${version}' (details: stol), version should be an integral value > 0`,
    );
  }
  return Number(version);
}
