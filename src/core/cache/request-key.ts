// What makes two requests of a model the same question: everything that its callable can tell apart, but for the id.
// SHA-256, and not a faster hash, because a client that finds two inputs with one hash could have a wrong answer served to
// others.

import { createHash } from 'node:crypto';

import { invalidArg } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import { Pace, type PacedWork, PAUSE_BYTES } from '../../pacing/paced-work.js';
import type { Parameters } from '../../model/parameters.js';
import type { ExecutionRequest } from '../instance/model-instance.js';
import { requestLabel } from '../refusals.js';

/** The parameter with which a request says `false` to neither look into the cache nor leave its answer there. */
export const CACHE_PARAMETER = 'response_cache';

/** Refuses a wish about the cache that cannot be understood: `'false'` would get a kept answer. Throws INVALID_ARG. */
export function checkCacheParameter(id: string, parameters: Parameters | undefined): void {
  const value = parameters?.[CACHE_PARAMETER];
  if (value === undefined || typeof value === 'boolean') return;
  throw invalidArg(`${requestLabel(id)}parameter '${CACHE_PARAMETER}' must be true or false, got ${valueText(value)}`);
}

export function* requestKey(config: CompleteModelConfig, request: KeyedRequest): PacedWork<string> {
  const { inputs } = request;
  const hash = createHash('sha256');
  const pace = new Pace();
  let head = '';
  for (let i = 0; i < inputs.length; i++) {
    const input = inputs[i];
    if (input !== undefined) head += `${i} ${input.datatype} [${input.shape.join()}] ${input.bytes.byteLength}\n`;
  }
  // The lengths of all that follows are in the head: no two requests give the same bytes.
  hash.update(
    head + outputsText(config, request.requestedOutputs) + parametersText(request.parameters) + sequenceText(request),
  );
  for (let i = 0; i < inputs.length; i++) {
    const input = inputs[i];
    if (input === undefined) continue;
    for (let start = 0; start < input.bytes.byteLength; start += PAUSE_BYTES) {
      const piece = input.bytes.subarray(start, start + PAUSE_BYTES);
      hash.update(piece);
      if (pace.spend(piece.byteLength)) yield;
    }
  }
  return hash.digest('base64url');
}

type KeyedRequest = Pick<ExecutionRequest, 'inputs' | 'requestedOutputs' | 'parameters' | 'sequence'>;

// In the order of the declaration: that of the request does not show in the answer.
function outputsText(config: CompleteModelConfig, requested: readonly string[]): string {
  if (requested.length === 0) return 'all\n';
  return `${config.outputs.map(({ name }) => (requested.includes(name) ? 1 : 0)).join('')}\n`;
}

function parametersText(parameters: Parameters | undefined): string {
  if (parameters === undefined) return '\n';
  const names = Object.keys(parameters).filter((name) => name !== CACHE_PARAMETER);
  const texts = names.sort().map((name) => `${JSON.stringify(name)} ${valueText(parameters[name]!)}`);
  return `${texts.join()}\n`;
}

function sequenceText({ sequence }: KeyedRequest): string {
  return sequence === undefined ? '' : `sequence ${valueText(sequence.id)} ${sequence.start} ${sequence.end}\n`;
}

function valueText(value: Parameters[string]): string {
  if (typeof value === 'string') return JSON.stringify(value);
  return Object.is(value, -0) ? 'number -0' : `${typeof value} ${value}`;
}
