// Lets rows fail alone. A callable that gets the rows of many requests names the faulty row, and only its request
// fails. The request itself keeps the failure until the callable has returned. So outputs keep their shape, and no
// decorator between the callable and its host knows of failures.

import { textOf } from '../checks/check.js';
import { TritonError } from '../errors.js';
import type { ContextWith, RequestWith } from './callable.js';

/** Why a request fails, and which of its rows causes it. */
export interface RowFailure {
  readonly row: number;
  /** The error that the callable gave. */
  readonly error: unknown;
}

/** Members of our requests that callables do not see. Copies that users make lack them. */
export interface FailingRequest {
  readonly failure: RowFailure | undefined;
  failRow(row: number, error: unknown): void;
}

/** Fails a request because of one of its rows. */
export function failRowOf(request: RequestWith<unknown>, row: number, error: unknown): void {
  const failing = request as Partial<FailingRequest>;
  if (typeof failing.failRow === 'function') return failing.failRow(row, error);
  const message =
    'failRow cannot find the request of a row: make requests with other inputs by withInputs(request, inputs)';
  throw new TritonError('INTERNAL', message);
}

export function noSuchRow(row: number, rows: number, taker = 'failRow'): TritonError {
  return new TritonError('INTERNAL', `${taker} takes a row from 0 to ${rows - 1}, got ${textOf(row)}`);
}

export function failureOf(request: RequestWith<unknown>): RowFailure | undefined {
  return (request as Partial<FailingRequest>).failure;
}

/** Whether the requests of all rows have failed, so that the callable's outputs do not matter. */
export function haveAllFailed({ requests, requestOfRow }: ContextWith<unknown>): boolean {
  return requests.some(failureOf) && requestOfRow.every(failureOf);
}
