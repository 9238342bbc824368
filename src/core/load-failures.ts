// Texts about loads that fail or are refused, for clients, the index and the log. In Triton's words.

import { type ErrorCode, invalidArg, type TritonError } from '../errors.js';

/** Refuses the load of a model that is not bound. */
export function notPolled(name: string): TritonError {
  return invalidArg(`failed to load '${name}', failed to poll from model repository`);
}

/** The error of a failed load for clients: a line for each version. */
export function loadFailed(name: string, failures: ReadonlyMap<number, TritonError>): TritonError {
  const lines = Array.from(
    failures,
    ([version, error]) => `version ${version} is at UNAVAILABLE state: ${describe(error)};\n`,
  );
  return invalidArg(`load failed for model '${name}': ${lines.join('')}`);
}

/** Refuses what can be no model's name, whatever is bound. */
export function checkModelName(name: string): void {
  if (/^[ \t\n\v\f\r]*$/.test(name)) {
    throw invalidArg('Model name cannot be empty. Please enter a valid name to deploy.');
  }
  if (/[/\\]|^\.\.?$/.test(name)) {
    throw invalidArg(`invalid model name '${name}', model name must not contain path traversal characters`);
  }
}

/** How Triton names codes where it prints them. */
const CODE_NAMES = {
  UNKNOWN: 'Unknown',
  INTERNAL: 'Internal',
  NOT_FOUND: 'Not found',
  INVALID_ARG: 'Invalid argument',
  UNAVAILABLE: 'Unavailable',
  UNSUPPORTED: 'Unsupported',
  ALREADY_EXISTS: 'Already exists',
  CANCELLED: 'Cancelled',
  DEADLINE_EXCEEDED: 'Deadline exceeded',
  UNAUTHENTICATED: 'Unauthenticated',
  PERMISSION_DENIED: 'Permission denied',
  TOO_LARGE: 'Too large',
} as const satisfies Record<ErrorCode, string>;

/** An error as the index and the log have it. */
export function describe({ code, message }: TritonError): string {
  return `${CODE_NAMES[code]}: ${message}`;
}
