// `completionModel` makes a model from a function that continues a text. The OpenAI API serves it at /v1/completions.

import { stream } from '../callables/stream.js';
import type { InferenceContext, InferFunc, ModelSpec } from '../model/callable.js';
import { COMPLETION_INPUTS, COMPLETION_OUTPUTS } from '../model/openai.js';
import { type CompletionPart, generate, type Generated } from './generation.js';
import { boundOptions, type GenerationConfig, type OpenAiModelOptions } from './generation-model.js';
import { type GenerationOptions, generationOptions } from './generation-request.js';

type CompletionInputs = typeof COMPLETION_INPUTS;
type CompletionOutputs = typeof COMPLETION_OUTPUTS;

/** A request to a completion model. */
export interface CompletionRequest extends GenerationOptions {
  /** The text to continue. */
  readonly prompt: string;
}

/** Continues a text: a generator of tokens, or a function of the whole answer. */
export type CompletionFunc = (
  request: CompletionRequest,
  context: InferenceContext<CompletionInputs>,
) => Generated<CompletionPart>;

export interface CompletionModelOptions extends OpenAiModelOptions<GenerationConfig> {
  readonly complete: CompletionFunc;
}

/** What `bind` takes. */
export interface CompletionModel
  extends ModelSpec<CompletionInputs, CompletionOutputs, true>, Pick<CompletionModelOptions, 'setup' | 'teardown'> {
  readonly inferFunc: InferFunc<CompletionInputs, CompletionOutputs, true>;
}

/**
 * Makes a model from a function that continues texts. The server serves it at `/v1/completions`, as one answer or as a
 * stream, and over Triton's protocols with the tensors `prompt` and `options`. The answer ends as that of `chatModel` does.
 * Throws INVALID_ARG for wrong options.
 *
 * @example
 * triton.bind(completionModel({ modelName: 'Words', complete: ({ prompt, signal }) => continuation(prompt, signal) }));
 */
export function completionModel(options: CompletionModelOptions): CompletionModel {
  const bound = boundOptions(options, { helper: 'completionModel', own: ['complete'] });
  const giver = { what: `complete of model '${options.modelName}'`, usesTools: false };
  return {
    ...bound,
    openai: 'completions',
    inputs: COMPLETION_INPUTS,
    outputs: COMPLETION_OUTPUTS,
    config: { ...options.config, decoupled: true, maxBatchSize: 1 },
    inferFunc: stream<CompletionInputs, CompletionOutputs>(({ prompt, options: json }, context) => {
      const request = {
        ...generationOptions(json?.strings()[0], context.signal),
        prompt: prompt.strings()[0]!,
      };
      // Which outputs a step has is known when it comes.
      return generate(options.complete(request, context), request, giver) as never;
    }),
  };
}
