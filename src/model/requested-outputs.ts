// Finds the outputs that a request asks for. A callable may leave out the others.

import type { InferenceRequest } from './callable.js';
import type { CompleteModelConfig } from './complete-model-config.js';

type Declared = Pick<CompleteModelConfig, 'outputs'>;

/** Kept per model, because each request of a batch needs them. */
const known = new WeakMap<object, readonly string[]>();

/** The requested names in declaration order; an empty list asks for all. */
export function requestedNames(asked: readonly string[], { outputs }: Declared): readonly string[] {
  let all = known.get(outputs);
  if (all === undefined) known.set(outputs, (all = Object.freeze(outputs.map(({ name }) => name))));
  if (asked.length === 0) return all;
  const wanted = new Set(asked);
  return Object.freeze(all.filter((name) => wanted.has(name)));
}

/** The outputs that any of the requests asks for, in declaration order. */
export function requestedByAny(requests: readonly InferenceRequest[], config: Declared): readonly string[] {
  if (requests.length === 0) return requestedNames([], config);
  const first = namesOf(requests[0]!, config);
  // As a rule every request asks for all outputs.
  if (requests.every((request) => namesOf(request, config) === first)) return first;
  return requestedNames([...new Set(requests.flatMap((request) => [...namesOf(request, config)]))], config);
}

/** The same, and the next states of sequences, which the server keeps whatever clients ask for. */
export function neededByAny(
  requests: readonly InferenceRequest[],
  config: Declared & Pick<CompleteModelConfig, 'sequenceBatching'>,
): readonly string[] {
  const asked = requestedByAny(requests, config);
  const states = config.sequenceBatching?.states ?? [];
  if (states.every(({ output }) => asked.includes(output))) return asked;
  return requestedNames([...asked, ...states.map(({ output }) => output)], config);
}

// Requests made by users' own decorators may lack the names.
function namesOf(request: Partial<InferenceRequest>, config: Declared): readonly string[] {
  return request.requestedOutputs ?? requestedNames([], config);
}
