// Which outputs of a model a request is to be answered with: a callable may leave out what nobody asked for.

import type { InferenceRequest } from './callable.js';
import type { CompleteModelConfig } from './complete-model-config.js';

type Declared = Pick<CompleteModelConfig, 'outputs'>;

/** Looked up once per model: each request of a batch asks. */
const known = new WeakMap<object, readonly string[]>();

/** The names that are answered, in declaration order; an empty list asks for all. */
export function requestedNames(asked: readonly string[], { outputs }: Declared): readonly string[] {
  let all = known.get(outputs);
  if (all === undefined) known.set(outputs, (all = Object.freeze(outputs.map(({ name }) => name))));
  if (asked.length === 0) return all;
  const wanted = new Set(asked);
  return Object.freeze(all.filter((name) => wanted.has(name)));
}

/** What any of the requests is answered with, in declaration order. */
export function requestedByAny(requests: readonly InferenceRequest[], config: Declared): readonly string[] {
  if (requests.length === 0) return requestedNames([], config);
  const first = namesOf(requests[0]!, config);
  // As nearly always: nobody asked for some.
  if (requests.every((request) => namesOf(request, config) === first)) return first;
  return requestedNames([...new Set(requests.flatMap((request) => [...namesOf(request, config)]))], config);
}

// Requests of users' own decorators may lack the names.
function namesOf(request: Partial<InferenceRequest>, config: Declared): readonly string[] {
  return request.requestedOutputs ?? requestedNames([], config);
}
