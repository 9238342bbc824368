// Hides the messages of failed callables from clients. They get a number instead, by which an operator finds the message in the
// log. An error that a callable throws with a code
// of its own is meant for the client, unless the requests of several clients fail with it.

import { randomUUID } from 'node:crypto';

import { type ErrorCode, TritonError } from '../errors.js';
import { isBatchFailure } from '../model/batch-failure.js';
import type { EngineLogger } from './engine-logger.js';
import { requestLabel } from './refusals.js';

/** Codes of what nobody said on purpose. */
const MASKED: ReadonlySet<ErrorCode> = new Set(['INTERNAL', 'UNKNOWN']);

/** The error that a client gets in the place of `error`. */
export type ErrorMask = (error: TritonError, request: { readonly id: string; readonly model: string }) => TritonError;

export function errorMask(logger: EngineLogger): ErrorMask {
  return (error, { id, model }) => {
    if (!MASKED.has(error.code) && !isBatchFailure(error)) return error;
    const number = randomUUID();
    logger.error(`internal error ${number}: ${requestLabel(id)}model '${model}': ${error.message}`);
    return new TritonError(error.code, `internal error ${number}`);
  };
}
