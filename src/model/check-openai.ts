// Checks that a model has the tensors of its endpoint of the OpenAI API.

import { invalidArg } from '../errors.js';
import { nearest } from '../checks/nearest.js';
import type { CompleteModelConfig, CompleteTensorSpec } from './complete-model-config.js';
import { OPENAI_ENDPOINTS, type OpenAiEndpoint } from './openai.js';

interface Wanted {
  readonly datatype: CompleteTensorSpec['datatype'];
  /** Undefined: a list of any length. */
  readonly elements: 1 | undefined;
  readonly required: boolean;
}

const text = (required: boolean): Wanted => ({ datatype: 'BYTES', elements: 1, required });

const SIGNATURES = {
  chat: {
    inputs: { messages: text(true), options: text(false) },
    outputs: { text: text(true), tool_calls: text(false), finish_reason: text(false), usage: text(false) },
  },
  completions: {
    inputs: { prompt: text(true), options: text(false) },
    outputs: { text: text(true), finish_reason: text(false), usage: text(false) },
  },
  transcriptions: {
    inputs: { audio: text(true), options: text(false) },
    outputs: { text: text(true), details: text(false) },
  },
  embeddings: {
    inputs: { text: text(true) },
    outputs: {
      embedding: { datatype: 'FP32', elements: undefined, required: true },
      tokens: { datatype: 'INT32', elements: 1, required: false },
    },
  },
} as const satisfies Record<OpenAiEndpoint, Readonly<Record<'inputs' | 'outputs', Readonly<Record<string, Wanted>>>>>;

/** Throws INVALID_ARG when the endpoint is unknown, the tensors are not the endpoint's, or it could serve no request of the endpoint. */
export function checkOpenAi(
  endpoint: unknown,
  {
    inputs,
    outputs,
    decoupled,
    sequenceBatching,
  }: Pick<CompleteModelConfig, 'inputs' | 'outputs' | 'decoupled' | 'sequenceBatching'>,
  where: string,
): OpenAiEndpoint {
  const known = OPENAI_ENDPOINTS.find((name) => name === endpoint);
  if (known === undefined) {
    const hint = typeof endpoint === 'string' ? nearest(endpoint, OPENAI_ENDPOINTS) : undefined;
    throw invalidArg(
      `openai of ${where} must be one of ${OPENAI_ENDPOINTS.join(', ')}, got ${JSON.stringify(endpoint)}` +
        (hint === undefined ? '' : `; did you mean '${hint}'?`),
    );
  }
  if (decoupled && (known === 'embeddings' || known === 'transcriptions')) {
    throw invalidArg(`openai: '${known}' of ${where} needs one response per request, got a decoupled model`);
  }
  if (sequenceBatching !== undefined && known === 'embeddings') {
    throw invalidArg(
      `openai: '${known}' of ${where} excludes config.sequenceBatching: a request may have several texts, and one of a sequence has one row`,
    );
  }
  if (sequenceBatching?.iterative === false) {
    throw invalidArg(
      `openai: '${known}' of ${where} excludes a config.sequenceBatching that is not iterative: requests of the OpenAI API belong to no sequence`,
    );
  }
  const signature = SIGNATURES[known];
  checkTensors(inputs, signature.inputs, `openai: '${known}' of ${where} needs an input`);
  checkTensors(outputs, signature.outputs, `openai: '${known}' of ${where} needs an output`);
  const unknown = inputs.find(({ name, optional }) => !optional && !Object.hasOwn(signature.inputs, name));
  if (unknown !== undefined) {
    throw invalidArg(
      `openai: '${known}' of ${where} sends ${Object.keys(signature.inputs).join(' and ')} only: the input '${unknown.name}' must be optional`,
    );
  }
  return known;
}

function checkTensors(
  specs: readonly CompleteTensorSpec[],
  wanted: Readonly<Record<string, Wanted>>,
  need: string,
): void {
  for (const [name, { datatype, elements, required }] of Object.entries(wanted)) {
    const spec = specs.find((given) => given.name === name);
    if (spec === undefined && !required) continue;
    const form = datatype === 'BYTES' ? 'string' : datatype === 'FP32' ? 'float32' : 'int32';
    const expected = `'${name}' of ${form} and the shape ${elements === 1 ? '[1]' : '[-1]'}`;
    if (spec === undefined) throw invalidArg(`${need} ${expected}`);
    const fits =
      spec.shape.length <= 1 && (elements === undefined ? spec.shape.length === 1 : Math.abs(spec.shape[0] ?? 1) === 1);
    if (spec.datatype !== datatype || !fits) {
      throw invalidArg(`${need} ${expected}, got ${spec.datatype} and [${spec.shape.join(',')}]`);
    }
  }
}
